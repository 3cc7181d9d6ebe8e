import type { KeyType, Scope } from "../domain/access/scopes.ts";
import type { Side } from "../domain/market/market.ts";
import type { DaySums } from "../domain/market/running-sums.ts";
import type { Override, Policy } from "../domain/policy/policy.ts";
import type { TraderStanding } from "../domain/trader.ts";
import type { Objection, PlanApproval, Proposal } from "./approvals/rows.ts";
import type { Clarification, Market, MarketEnd, MarketState, PositionFee, Versioned, Watch } from "./market-rows.ts";

export type { Clarification, Market, MarketEnd, MarketState, Watch };

/** The tenant's own row, which apply and the policy endpoint write. */
export interface Tenant extends Versioned {
  /** The policy without overrides; `policyAt` returns the policy at an instant. */
  policy: Policy;
  overrides: readonly Override[];
  policyUpdatedAt: number;
  kycRequired: boolean;
  /** The fund F of a market that states none. */
  liquidityMicro: bigint;
  /** The capital moved into the treasury so far. */
  capitalMicro: bigint;
  /** The last applied document without secrets, as canonical JSON; empty before the first apply. */
  document: string;
}

export interface Account extends Versioned {
  id: string;
  /** Credits minus debits. Only external accounts may be negative, because money enters from them. */
  balanceMicro: bigint;
}

export interface Trader extends Versioned, TraderStanding {
  id: string;
  /** `verifiedAt` of the last applied KYC event; older events change nothing. */
  kycAt: number | null;
  suitabilityAt: number | null;
  createdAt: number;
}

/** When a user's sessions end. It is derived from the audit log: no table holds it, so only an entry can change it. */
export interface Revocation {
  /** Tokens issued before this instant are refused; null if none are. */
  before: number | null;
}

/** Shares of one side of a market, and the sums of the day of the trader's last trade of them. */
export interface Position extends Versioned, DaySums {
  marketId: string;
  traderId: string;
  side: Side;
  sharesMicro: bigint;
  /** What the trader paid, fees included. */
  costMicro: bigint;
}

/** The cost of a trader's positions in unsettled markets. Derived, not stored; loading it also loads the positions. */
export interface Portfolio {
  exposureMicro: bigint;
}

export interface ApiKey extends Versioned {
  /** SHA-256 of the key, hex. The key itself is never stored. */
  hash: string;
  name: string;
  type: KeyType;
  /** What an admin key may do; a public key has no scopes. */
  scopes: readonly Scope[];
  /** CIDR ranges from which the key works; if empty, it works from anywhere. */
  from: readonly string[];
  createdAt: number;
  expiresAt: number | null;
  /** Whether the key ended because its value leaked: no key may have that value again. */
  leaked: boolean;
  /** Whether the audit log states the key exactly like this row. Other keys are refused. */
  onRecord: boolean;
}

/**
 * The tenant's row as the audit log states it. Commands that write the row start from it, so edits that bypassed the
 * log are lost.
 */
export interface TenantRecord {
  /** From the last entry that states the row; null if there is none. Its document is null if the log has another document. */
  stated: (Omit<Tenant, "document" | "version"> & { document: string | null }) | null;
  /** Whether the row differs from the log. */
  strays: boolean;
}

/** Until when applies are refused. It is derived from the audit log: no table holds it, so only an entry can change it. */
export interface Freeze {
  /** Null once the freeze is lifted. A past instant no longer counts. */
  until: number | null;
}

/** A row that decides about money and that no audit entry states. */
export interface Sealable {
  /** Created with the audit key when the row is written, and checked when it is read. */
  seal?: string;
}

/** A provider's reference that has been counted. It is kept for ever, so that it counts once. */
export interface CountedReference extends Sealable {
  provider: string;
  reference: string;
  amountMicro: bigint;
  userId: string;
}

/** What is known of one payment from a provider, so that refunds and disputes can take back the credited amount. */
export interface Payment extends Versioned {
  provider: string;
  reference: string;
  /** Empty until an event names the user, who never changes after that. */
  userId: string;
  creditedMicro: bigint;
  /** The received amount according to the provider; null until the provider states it. */
  receivedMicro: bigint | null;
  /** The sum of the refunds with ids. */
  refundsMicro: bigint;
  /** The running total of refunds that the provider stated last. */
  refundTotalMicro: bigint;
  /** The sum of the failed refunds, whose money the provider kept. */
  refundsFailedMicro: bigint;
  disputedMicro: bigint;
  disputesWonMicro: bigint;
  takenBackMicro: bigint;
}

/** The first result of a request with an `Idempotency-Key`. */
export interface StoredAnswer extends Sealable {
  caller: string;
  key: string;
  requestHash: string;
  status: number;
  body: string;
  createdAt: number;
}

/** A provider's webhook and its outcome, kept for ever, once per body. */
export interface InboundWebhook extends Sealable {
  provider: string;
  /** SHA-256 of the raw body, hex. */
  sha256: string;
  event: string;
  reference: string | null;
  userId: string | null;
  /** The types of the audit entries that the webhook caused, `kept`, or `no effect`. */
  outcome: string;
  /** The raw body of an event that is only stored; null for others. */
  body: string | null;
  receivedAt: number;
}

/** A session of the operator's console. */
export interface ConsoleSession extends Sealable {
  /** SHA-256 of the cookie's token, hex. */
  sha256: string;
  /** Of the admin key that signed in. */
  keyHash: string;
  keyName: string;
  createdAt: number;
  /** When it ends at the latest. */
  endsAt: number;
  endedAt: number | null;
}

export type WithdrawalStatus = "pending" | "approved" | "rejected";

/** Outgoing money, held in the user's pending account until an operator decides. */
export interface Withdrawal extends Versioned {
  id: string;
  traderId: string;
  amountMicro: bigint;
  status: WithdrawalStatus;
  createdAt: number;
  decidedAt: number | null;
}

/** One suitability assessment. All are kept; the trader's row contains the last result. */
export interface Assessment {
  id: string;
  traderId: string;
  /** Canonical JSON. */
  answers: string;
  score: number;
  submittedAt: number;
}

/** Every kind of row that a command can read, by table and key. */
export interface Tables {
  tenant: Tenant;
  tenantRecord: TenantRecord;
  freeze: Freeze;
  account: Account;
  market: Market;
  /** The market that has or had a key: no other market ever gets it. */
  marketKey: Market;
  marketState: MarketState;
  marketEnd: MarketEnd;
  clarification: Clarification;
  /** All clarifications of a market, oldest first. */
  clarifications: readonly Clarification[];
  watch: Watch;
  trader: Trader;
  revocation: Revocation;
  position: Position;
  positionFee: PositionFee;
  portfolio: Portfolio;
  /** All positions in a market; loaded for an end of it only. */
  holders: readonly Position[];
  /** Makes the loader load the fees of all open positions in a market. */
  holderFees: never;
  /** Makes the loader load what the holders of positions in a market owe. */
  holderDebts: never;
  /** All API keys. */
  keyring: readonly ApiKey[];
  apiKey: ApiKey;
  receipt: CountedReference;
  payment: Payment;
  storedAnswer: StoredAnswer;
  withdrawal: Withdrawal;
  proposal: Proposal;
  /** The proposal about a subject that waits, or was decided by the same batch. Derived. */
  waitingProposal: Proposal;
  objection: Objection;
  planApproval: PlanApproval;
  /** The approvals of one apply. Derived. */
  planApprovals: readonly PlanApproval[];
  /** Whether a user holds shares of a market, settled or not. Derived. */
  stake: { isHeld: boolean };
  assessment: Assessment;
  inboundDelivery: InboundWebhook;
  consoleSession: ConsoleSession;
}

export type Table = keyof Tables;

/** The key of a table with one row. */
export const SINGLE = "";

export const positionKey = (traderId: string, marketId: string, side: Side) => `${side}:${marketId}:${traderId}`;
export const referenceKey = (provider: string, reference: string) => `${provider}\n${reference}`;
export const webhookKey = (provider: string, sha256: string) => `${provider}\n${sha256}`;
export const answerKey = (caller: string, key: string) => `${caller}\n${key}`;

/** The name of a row that a command reads, so that it can be loaded before the command executes. */
export interface Need {
  table: Table;
  key: string;
}
