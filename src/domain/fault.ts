/**
 * Every refusal pmctl knows. The code travels in the `Error-Code` header and decides both the HTTP status
 * and the exit code of the command line; the message is public and must never carry a URL, SQL or a key.
 */
const FAULTS = {
  KEY_INVALID: { status: 401, exit: 4 },
  USER_REQUIRED: { status: 401, exit: 4 },
  SIGNATURE_INVALID: { status: 401, exit: 4 },
  FORBIDDEN: { status: 403, exit: 4 },
  SCOPE_REQUIRED: { status: 403, exit: 4 },
  ORIGIN_FORBIDDEN: { status: 403, exit: 4 },
  KYC_REQUIRED: { status: 403, exit: 4 },
  ACCOUNT_RESTRICTED: { status: 403, exit: 4 },
  JURISDICTION_BLOCKED: { status: 403, exit: 4 },
  SUITABILITY_REQUIRED: { status: 403, exit: 4 },
  BAD_REQUEST: { status: 400, exit: 6 },
  IDEMPOTENCY_MISMATCH: { status: 400, exit: 7 },
  PRECONDITION_FAILED: { status: 400, exit: 7 },
  NOT_FOUND: { status: 404, exit: 5 },
  MARKET_NOT_FOUND: { status: 404, exit: 5 },
  MARKET_CLOSED: { status: 400, exit: 7 },
  MARKET_SUSPENDED: { status: 400, exit: 7 },
  MARKET_SETTLED: { status: 400, exit: 7 },
  MAX_TRADE_EXCEEDED: { status: 400, exit: 7 },
  EXPOSURE_EXCEEDED: { status: 400, exit: 7 },
  INSUFFICIENT_FUNDS: { status: 400, exit: 7 },
  TREASURY_INSUFFICIENT: { status: 400, exit: 7 },
  PRICE_BOUND: { status: 400, exit: 7 },
  COST_EXCEEDS_PAYOUT: { status: 400, exit: 7 },
  AMOUNT_TOO_SMALL: { status: 400, exit: 7 },
  SLIPPAGE: { status: 400, exit: 7 },
  INSUFFICIENT_SHARES: { status: 400, exit: 7 },
  WITHDRAWAL_DECIDED: { status: 400, exit: 7 },
  KEY_EXISTS: { status: 400, exit: 7 },
  KEY_IN_USE: { status: 400, exit: 7 },
  RATE_LIMITED: { status: 429, exit: 9 },
  OVERLOADED: { status: 429, exit: 9 },
  INTERNAL: { status: 500, exit: 1 },
  DATABASE_UNAVAILABLE: { status: 500, exit: 9 },
  OUTCOME_UNKNOWN: { status: 500, exit: 9 },
  ENGINE_UNSUPPORTED: { status: 500, exit: 6 },
  UNREACHABLE: { status: 500, exit: 9 },
  SERVER_UNPROVEN: { status: 500, exit: 9 },
  USAGE: { status: 400, exit: 6 },
  CONFIG_INVALID: { status: 400, exit: 6 },
  REFUSED: { status: 400, exit: 3 },
  EXPECTATION_NOT_MET: { status: 400, exit: 7 },
  INTEGRITY: { status: 500, exit: 8 },
} as const;

export type FaultCode = keyof typeof FAULTS;

export const FAULT_CODES = Object.keys(FAULTS) as FaultCode[];

/** Whether a text, such as an `Error-Code` header, is one of the codes. */
export function isFaultCode(text: string): text is FaultCode {
  return Object.hasOwn(FAULTS, text);
}

export interface FaultOptions {
  /** For the log and for tests; never sent to a caller. */
  detail?: Record<string, unknown>;
  cause?: unknown;
  /** Whole seconds after which a retry makes sense; sent as `Retry-After`. */
  retryAfterSec?: number;
}

/** A refusal addressed to the caller. Anything else that is thrown is a bug and is answered as INTERNAL. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly detail: Record<string, unknown>;
  readonly retryAfterSec: number | undefined;

  constructor(code: FaultCode, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Fault";
    this.code = code;
    this.detail = options.detail ?? {};
    this.retryAfterSec = options.retryAfterSec;
  }

  get status(): number {
    return FAULTS[this.code].status;
  }

  get exitCode(): number {
    return FAULTS[this.code].exit;
  }
}

/** States what must hold if our own code is right; a failure is our bug, never the caller's. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${message}`);
}
