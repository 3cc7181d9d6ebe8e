import type { Expected } from "./match.ts";
import type { End } from "./model-ends.ts";
import type { Maker, Side } from "./model-makers.ts";
import { microOf, ONE } from "./model-numbers.ts";
import type { Proposal, Rules } from "./model-proposals.ts";

/** All that the naive model remembers: lists of what happened, and nothing that could be worked out from them cheaply. */
export interface State {
  tenantId: string;
  kycRequired: boolean;
  /** F of a market that names none, micro-dollars. */
  liquidity: bigint;
  treasury: bigint;
  /** How long after its settlement a market can be corrected. */
  correctionHours: number;
  policy: Policy;
  /** Which changes wait for other actors or for a time; null for none. */
  rules: Rules | null;
  /** Oldest first. */
  proposals: Proposal[];
  /** The words of the scenario for what the server named itself. */
  labels: Record<string, string>;
  markets: Market[];
  users: Record<string, User>;
  positions: Position[];
  trades: Trade[];
  withdrawals: Withdrawal[];
  movements: Movement[];
  /** Money across the tenant's border, positive inwards. */
  flows: { provider: string; amount: bigint }[];
  /** Deposits by their reference. */
  deposits: Record<string, { user: string; amount: bigint }>;
  payments: Record<string, Payment>;
  /** Bodies of webhooks that were taken in. */
  deliveries: string[];
  keys: Key[];
  /** First answers under an `Idempotency-Key`, by caller and key. */
  answers: Record<string, { request: string; answer: unknown }>;
  log: LogEntry[];
}

export interface Policy {
  feeBps: number;
  maxTradeUsd: number;
  maxUserExposureUsd: number;
  maxCreditUsd: number;
  jurisdictions: { allowed: string[]; blocked: string[] };
  kycReview: boolean;
  suitabilityRequired: boolean;
  suitabilityThresholds: { blockBelow: number; tiers: { minScore: number; capUsd: number | null }[] };
  resolution_url: string | null;
}

/** An instant of the database's, known to lie between two readings of this machine's clock. */
export interface Moment {
  from: number;
  to: number;
}

export interface Market {
  id: string;
  question: string;
  category: string;
  resolutionRef: string;
  meta: Record<string, unknown>;
  closeAt: number;
  createdAt: string;
  status: "open" | "suspended" | "settled";
  closingRecorded: boolean;
  outcome: End | null;
  settledAt: string | null;
  /** Of a void, or of the last correction. */
  reason: string | null;
  /** Oldest first. */
  corrections: { from: End; to: End; at: string; reason: string }[];
  /** Oldest first. */
  clarifications: { id: string; text: string; at: string }[];
  maker: Maker;
}

export interface User {
  kyc: "unverified" | "verified" | "rejected" | "review";
  /** `verifiedAt` of the result that counts. */
  kycAt: number | null;
  restricted: boolean;
  jurisdiction: string | null;
  score: number | null;
  scoredAt: Moment | null;
  balance: bigint;
  /** What the user owes to the payment provider. */
  owed: bigint;
  createdAt: Moment;
}

export interface Position {
  user: string;
  marketId: string;
  side: Side;
  shares: bigint;
  cost: bigint;
}

export interface Trade {
  id: string;
  user: string;
  marketId: string;
  side: Side;
  action: "buy" | "sell";
  amount: bigint;
  fee: bigint;
  shares: bigint;
  /** Of a sale: net proceeds less the cost that was given up. */
  realized: bigint | null;
  hedgeRef: HedgeRef | null;
  ts: string;
  /** As it was answered, for the list of orders. */
  answer: Record<string, unknown>;
  yesAfter: bigint;
}

export interface HedgeRef {
  symbol: string;
  direction: "long" | "short";
  notional: number;
  externalRef: string;
}

export interface Withdrawal {
  id: string;
  user: string;
  amount: bigint;
  status: "pending" | "approved" | "rejected";
  createdAt: string;
}

/** A line of a user's statement. */
export interface Movement {
  user: string;
  seq: number;
  ts: string;
  type: string;
  amount: bigint;
  /** Of a line of its own: how much more the user owes, below 0 for what was repaid. */
  owed?: bigint;
  about: {
    marketId?: string;
    tradeId?: string;
    withdrawalId?: string;
    reference?: string;
    from?: End;
    outcome?: End;
    reason?: unknown;
  };
}

/** What is known of a Stripe payment, whatever the order in which it became known. */
export interface Payment {
  user: string | null;
  credited: bigint;
  received: bigint | null;
  refunds: Record<string, bigint>;
  refundTotal: bigint;
  refundsFailed: Record<string, bigint>;
  disputes: Record<string, bigint>;
  disputesWon: Record<string, bigint>;
  takenBack: bigint;
}

export interface Key {
  name: string;
  type: "admin" | "public";
  /** Null when the only answer that showed it was lost: no caller can use it. */
  value: string | null;
  createdAt: string | null;
  expiresAt: string | null;
}

export interface LogEntry {
  seq: number;
  type: string;
  actor: string;
  hash: string;
  ts: string;
  payload: Record<string, unknown>;
}

/** What is asked of the service, as the model judges it. */
export interface Request {
  operation: string;
  params: { id?: string; name?: string };
  body: Record<string, unknown>;
  /** The name of the API key that it comes with; undefined for webhooks. */
  key?: string;
  user?: string;
  /** The jurisdiction that the user's token claims. */
  claimed?: string;
  idempotencyKey?: string | undefined;
  /** The raw body of a webhook. */
  bytes?: string;
  actor: string;
  /** This machine's clock before it was sent and after it was answered. */
  during: Moment;
}

/** One entry that a change must leave in the audit log. `logged` is told where it stands. */
export interface ExpectedEntry {
  type: string;
  actor: string;
  payload: Expected;
  /** The log alone says whether it happened. */
  isOptional?: boolean;
  logged?: (at: LogEntry) => void;
}

/** One thing that may rightly come of a request. */
export type Outcome =
  | { refused: string; status: number }
  | {
      answer: Expected;
      /** Takes the change into the state it was judged in, and names its audit entries in order. */
      commit: (answer: Record<string, unknown>) => ExpectedEntry[];
    };

export type Rule = (state: State, request: Request) => Outcome[];

/** Refusals of the interface: the status of each code, and the exit code of the command line. */
const CODES: Record<string, { status: number; exit: number }> = Object.fromEntries([
  ...["KEY_INVALID", "USER_REQUIRED"].map((code) => [code, { status: 401, exit: 4 }]),
  ...[
    "FORBIDDEN",
    "KYC_REQUIRED",
    "ACCOUNT_RESTRICTED",
    "JURISDICTION_UNKNOWN",
    "JURISDICTION_BLOCKED",
    "SUITABILITY_REQUIRED",
    "POSITION_REQUIRED",
  ].map((code) => [code, { status: 403, exit: 4 }]),
  ...["NOT_FOUND", "MARKET_NOT_FOUND"].map((code) => [code, { status: 404, exit: 5 }]),
  ["BAD_REQUEST", { status: 400, exit: 6 }],
]);

export const codeOf = (code: string) => CODES[code] ?? { status: 400, exit: 7 };

export const refuse = (code: string): Outcome[] => [{ refused: code, status: codeOf(code).status }];

/** A change that is answered and leaves nothing. */
export const unchanged = (answer: Expected): Outcome[] => [{ answer, commit: () => [] }];

export const marketOf = (state: State, id: unknown): Market | undefined =>
  state.markets.find((market) => market.id === id);

export function userOf(state: State, id: string, during: Moment): User {
  state.users[id] ??= {
    kyc: "unverified",
    kycAt: null,
    restricted: false,
    jurisdiction: null,
    score: null,
    scoredAt: null,
    balance: 0n,
    owed: 0n,
    createdAt: during,
  };
  return state.users[id];
}

/** How far the database's clock may be from a reading of this machine's. */
export const SKEW_MS = 300;

/** What a market's status may be at some moment: around its closing time both are right. */
export function statusesOf({ status, closeAt }: Market, { from, to }: Moment): string[] {
  if (status === "settled") return ["settled"];
  return [...(from - SKEW_MS < closeAt ? [status] : []), ...(to + SKEW_MS >= closeAt ? ["closed"] : [])];
}

/** The cost of what a user holds in markets that are not settled. */
export function exposureOf(state: State, user: string): bigint {
  return state.positions
    .filter((position) => position.user === user && marketOf(state, position.marketId)?.status !== "settled")
    .reduce((total, { cost }) => total + cost, 0n);
}

/** A positive amount with at most six decimals and within the interface's range; undefined for anything else. */
export function amountOf(value: unknown, most = 2n ** 33n * ONE): bigint | undefined {
  const micro = typeof value === "number" ? microOf(value) : undefined;
  return micro !== undefined && micro > 0n && micro <= most ? micro : undefined;
}
