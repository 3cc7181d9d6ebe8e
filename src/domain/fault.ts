/** What a user can do about an error: pass the identity check, add money, answer the assessment, or ask the operator. */
export const USER_ACTIONS = ["verify", "deposit", "suitability", "contact"] as const;
export type UserAction = (typeof USER_ACTIONS)[number];

/** The facts about a code, which are the same for every request. */
interface FaultFacts {
  /** The HTTP status. */
  status: number;
  /** The command line's exit code. */
  exit: number;
  /** The explanation in the API's documentation. */
  meaning: string;
  /** What the user can do about it, besides waiting or another request; absent if nothing helps. */
  action?: UserAction;
  /** The command that most likely helps, once `<user>` and `<market>` are filled in; absent if none does. */
  next?: string;
}

/**
 * Every error of pmctl; `contract/fault-remedies.ts` has the remedies. The code is sent in the `Error-Code` header and
 * decides both the HTTP status and the exit code of the command line. The message is public and must never contain a
 * URL, SQL or a key. The values are literals, or the widget's bundle would contain the unused table.
 */
const FAULTS = {
  KEY_INVALID: {
    status: 401,
    exit: 4,
    meaning: "the API key is missing, unknown, expired, or used from a network that it does not allow",
    next: "pmctl key list --via db",
  },
  USER_REQUIRED: {
    status: 401,
    exit: 4,
    meaning: "the user token is missing or invalid",
    next: "pmctl audit security",
  },
  SESSION_REQUIRED: { status: 401, exit: 4, meaning: "the console's session is missing or has ended" },
  SIGNATURE_INVALID: {
    status: 401,
    exit: 4,
    meaning: "the signature, its time or the tenant is wrong",
    next: "pmctl audit security; pmctl webhook verify --help",
  },
  FORBIDDEN: { status: 403, exit: 4, meaning: "the operation needs an admin key" },
  SCOPE_REQUIRED: {
    status: 403,
    exit: 4,
    meaning: "the admin key lacks a scope; the message names it",
    next: "pmctl key list",
  },
  ORIGIN_FORBIDDEN: { status: 403, exit: 4, meaning: "the page's origin or its host may not use the session" },
  CSRF_INVALID: { status: 403, exit: 4, meaning: "the header `x-csrf-token` lacks the token of the session" },
  KYC_REQUIRED: {
    status: 403,
    exit: 4,
    meaning: "the user has not passed the identity check",
    action: "verify",
    next: "pmctl webhook send kyc.passed --set userId=<user> --as-provider",
  },
  ACCOUNT_RESTRICTED: {
    status: 403,
    exit: 4,
    meaning: "the account is restricted",
    action: "contact",
    next: "pmctl user story <user>",
  },
  JURISDICTION_UNKNOWN: {
    status: 403,
    exit: 4,
    meaning: "trading needs a known jurisdiction, and the user's is not known",
    action: "verify",
    next: "pmctl webhook send kyc.passed --set userId=<user> --set jurisdiction=CODE --as-provider",
  },
  JURISDICTION_BLOCKED: {
    status: 403,
    exit: 4,
    meaning: "trading is not allowed from this jurisdiction",
    next: "pmctl webhook send kyc.passed --set userId=<user> --set jurisdiction=CODE --as-provider",
  },
  SUITABILITY_REQUIRED: {
    status: 403,
    exit: 4,
    meaning: "the assessment is missing or was not passed",
    action: "suitability",
    next: "pmctl suitability show --user <user>",
  },
  BAD_REQUEST: { status: 400, exit: 6, meaning: "a part of the request is invalid; the message names it" },
  IDEMPOTENCY_MISMATCH: { status: 400, exit: 7, meaning: "the Idempotency-Key was used with another request" },
  PRECONDITION_FAILED: { status: 400, exit: 7, meaning: "the resource has changed since the version in `If-Match`" },
  NOT_FOUND: { status: 404, exit: 5, meaning: "no resource has this path or id" },
  UNKNOWN_HOST: { status: 404, exit: 5, meaning: "no tenant is served under the request's host" },
  MARKET_NOT_FOUND: { status: 404, exit: 5, meaning: "no market has this id", next: "pmctl market list" },
  MARKET_KEY_TAKEN: {
    status: 409,
    exit: 7,
    meaning: "another market has this key, with other terms",
    next: "pmctl market show <key>",
  },
  MARKET_CLOSED: { status: 400, exit: 7, meaning: "the market's closing time has passed" },
  MARKET_SUSPENDED: { status: 400, exit: 7, meaning: "the market is suspended", next: "pmctl story <market>" },
  MARKET_SETTLED: { status: 400, exit: 7, meaning: "the market is settled" },
  MARKET_NOT_SETTLED: {
    status: 400,
    exit: 7,
    meaning: "the market is not settled",
    next: "pmctl market show <market>",
  },
  CORRECTION_CLOSED: {
    status: 400,
    exit: 7,
    meaning: "the settlement is final: the time of `resolution.correctionHours` has passed",
    next: "pmctl market show <market>",
  },
  OUTCOME_UNCHANGED: { status: 400, exit: 7, meaning: "the market has this outcome already" },
  PROPOSAL_PENDING: { status: 400, exit: 7, meaning: "a proposal about it waits", next: "pmctl proposal list" },
  PROPOSAL_DECIDED: { status: 400, exit: 7, meaning: "the proposal is executed or rejected" },
  ALREADY_APPROVED: { status: 400, exit: 7, meaning: "this actor has approved the proposal" },
  HOLD_RUNNING: { status: 400, exit: 7, meaning: "the proposal must still wait", next: "pmctl proposal list" },
  APPROVALS_MISSING: { status: 400, exit: 3, meaning: "other actors must approve first", next: "pmctl proposal list" },
  POSITION_REQUIRED: { status: 403, exit: 4, meaning: "only users with a position in the market may object" },
  ALREADY_OBJECTED: { status: 400, exit: 7, meaning: "the user has objected to the proposal" },
  LIMIT_REACHED: {
    status: 400,
    exit: 7,
    meaning: "the market has as many clarifications as it may have",
    next: "pmctl market show <market>",
  },
  MAX_TRADE_EXCEEDED: {
    status: 400,
    exit: 7,
    meaning: "the trade exceeds the limit per trade",
    next: "pmctl policy show",
  },
  EXPOSURE_EXCEEDED: {
    status: 400,
    exit: 7,
    meaning: "the trade exceeds the user's exposure cap",
    next: "pmctl position list --user <user>",
  },
  MAX_CREDIT_EXCEEDED: {
    status: 400,
    exit: 7,
    meaning: "the credit exceeds the limit per operator credit",
    next: "pmctl policy show",
  },
  INSUFFICIENT_FUNDS: {
    status: 400,
    exit: 7,
    meaning: "the wallet has less than the amount",
    action: "deposit",
    next: "pmctl user show <user>",
  },
  TREASURY_INSUFFICIENT: {
    status: 400,
    exit: 7,
    meaning: "the treasury holds less than the market needs",
    next: "pmctl plan -o json",
  },
  PRICE_BOUND: { status: 400, exit: 7, meaning: "the trade would move the price outside 0.001 to 0.999" },
  COST_EXCEEDS_PAYOUT: { status: 400, exit: 7, meaning: "the shares cost more, fee included, than they can pay" },
  AMOUNT_TOO_SMALL: { status: 400, exit: 7, meaning: "the amount buys nothing" },
  SLIPPAGE: { status: 400, exit: 7, meaning: "the price is worse than the request's limit" },
  INSUFFICIENT_SHARES: {
    status: 400,
    exit: 7,
    meaning: "the user holds fewer shares; a sale is checked for shares where a purchase is checked for funds",
    next: "pmctl position list --user <user>",
  },
  WITHDRAWAL_DECIDED: { status: 400, exit: 7, meaning: "the withdrawal has already been approved or rejected" },
  KEY_EXISTS: { status: 400, exit: 7, meaning: "an active key has this name" },
  KEY_IN_USE: { status: 400, exit: 7, meaning: "the request itself uses this key" },
  RATE_LIMITED: { status: 429, exit: 9, meaning: "the client has used up its requests for this minute" },
  OVERLOADED: { status: 429, exit: 9, meaning: "the server is overloaded; nothing was done" },
  INTERNAL: { status: 500, exit: 1, meaning: "the server failed; its log says why" },
  DATABASE_UNAVAILABLE: {
    status: 500,
    exit: 9,
    meaning: "the database is unreachable; nothing was done",
    next: "pmctl doctor",
  },
  TOKEN_KEYS_UNAVAILABLE: {
    status: 500,
    exit: 9,
    meaning: "the key set that checks user tokens cannot be read; nothing was done",
    next: "pmctl doctor",
  },
  OUTCOME_UNKNOWN: {
    status: 500,
    exit: 9,
    meaning: "the change may or may not have happened: repeat with the same Idempotency-Key",
  },
  STANDBY_REQUIRED: {
    status: 500,
    exit: 7,
    meaning: "fewer standbys are available than `database.require` demands; nothing was done",
    next: "pmctl doctor",
  },
  ENGINE_UNSUPPORTED: { status: 500, exit: 6, meaning: "pmctl does not run on this database" },
  CONSOLE_OFF: { status: 400, exit: 7, meaning: "the tenant's server has no console" },
  UNREACHABLE: { status: 500, exit: 9, meaning: "the server did not respond", next: "pmctl doctor" },
  SERVER_UNPROVEN: { status: 500, exit: 9, meaning: "the server did not prove that it serves this tenant" },
  USAGE: { status: 400, exit: 6, meaning: "the command line is invalid; the message names the mistake" },
  AMBIGUOUS: { status: 400, exit: 6, meaning: "the id prefix is ambiguous; the message lists the ids" },
  CONFIG_INVALID: { status: 400, exit: 6, meaning: "the configuration is invalid; the message names the place" },
  REFUSED: {
    status: 400,
    exit: 3,
    meaning:
      "the request needs a decision first, which the message names, or its basis has changed since; nothing was done",
  },
  FROZEN: {
    status: 409,
    exit: 3,
    meaning: "the tenant's configuration is frozen; nothing was written",
    next: "pmctl freeze",
  },
  CASE_FAILED: { status: 400, exit: 7, meaning: "a case of `pmctl test` failed its expectation" },
  STORY_CHANGED: { status: 400, exit: 7, meaning: "the page of a story was changed after it was signed" },
  EXPECTATION_NOT_MET: {
    status: 400,
    exit: 7,
    meaning: "the request expects other amounts than it would find or pay; nothing was done",
  },
  SETTLEMENT_UNEXPECTED: {
    status: 400,
    exit: 7,
    meaning: "the market has not closed, or its price suggests the other outcome; nothing was done",
  },
  INTEGRITY: {
    status: 500,
    exit: 8,
    meaning: "the ledger or the audit log is not sound",
    next: "pmctl reconcile --explain; pmctl audit verify",
  },
} as const satisfies Record<string, FaultFacts>;

export type FaultCode = keyof typeof FAULTS;

// The mark lets the bundler drop this call, and with it the table, from the widget.
export const FAULT_CODES = /* @__PURE__ */ Object.keys(FAULTS) as FaultCode[];

/** Whether a text, such as an `Error-Code` header, is one of the codes. */
export function isFaultCode(text: string): text is FaultCode {
  return Object.hasOwn(FAULTS, text);
}

/** Status, exit code, meaning and next step of a code. */
export function faultFacts(code: FaultCode): FaultFacts {
  return FAULTS[code];
}

export interface FaultOptions {
  /** For the log and for tests; never sent to a caller. */
  detail?: Record<string, unknown>;
  cause?: unknown;
  /** Whole seconds after which a retry makes sense; sent as `Retry-After`. */
  retryAfterSec?: number;
  /** The HTTP status if it differs from the code's: 503 if this server lacks something that another server may have. */
  status?: 503;
  /** Null if the code's next step does not help here, as where the code speaks of a file and not of the tenant. */
  next?: null;
}

/** An error addressed to the caller. Any other thrown error is a bug and is answered as INTERNAL. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly detail: Record<string, unknown>;
  readonly retryAfterSec: number | undefined;
  readonly status: number;
  /** The command that most likely helps; undefined if there is none. */
  readonly next: string | undefined;

  constructor(code: FaultCode, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Fault";
    this.code = code;
    this.detail = options.detail ?? {};
    this.retryAfterSec = options.retryAfterSec;
    this.status = options.status ?? FAULTS[code].status;
    this.next = options.next === null ? undefined : faultFacts(code).next;
  }

  get exitCode(): number {
    return FAULTS[this.code].exit;
  }
}

/** Takes what a rule refuses. An action throws the first refusal; a question about all of them collects each. */
export type Refuse = (refusal: Fault) => void;

/** Ends an action at the first rule that refuses it. */
export const throwRefusal: Refuse = (refusal) => {
  throw refusal;
};

/** States what must be true if our own code is right. A failure is our bug, never the caller's. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${message}`);
}
