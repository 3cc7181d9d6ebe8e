import type { KeyType, Scope } from "../domain/access/scopes.ts";
import type { Mechanism, Side, StoredStatus } from "../domain/market/market.ts";
import type { Pool } from "../domain/market/pool.ts";
import type { DaySums, HourSums } from "../domain/market/running-sums.ts";
import type { Override, Policy } from "../domain/policy/policy.ts";
import type { TraderStanding } from "../domain/trader.ts";

/** A row that changes has the version it was read at, 0 before it exists. The store writes `version + 1`, guarded. */
interface Versioned {
  version: number;
}

/** The tenant's own row: what apply and the policy endpoint set. */
export interface Tenant extends Versioned {
  /** Without the overrides; `policyAt` gives what holds at an instant. */
  policy: Policy;
  overrides: readonly Override[];
  policyUpdatedAt: number;
  kycRequired: boolean;
  /** F of a market that names none. */
  liquidityMicro: bigint;
  /** Capital moved into the treasury so far. */
  capitalMicro: bigint;
  /** The last applied document without secrets, as canonical JSON; empty before the first apply. */
  document: string;
}

export interface Account extends Versioned {
  id: string;
  /** Credits minus debits. Only external accounts may be negative: they are where money comes from. */
  balanceMicro: bigint;
}

/** The terms of a market. Never changed, so it has no version. */
export interface Market extends Mechanism {
  id: string;
  question: string;
  category: string;
  closeAt: number;
  resolutionRef: string;
  /** Canonical JSON. */
  meta: string;
  createdAt: number;
  /** The key that it was created with; null for none. The audit log knows those that files gave it later. */
  fileKey: string | null;
  /** The house's own shares: what the opening pool left of the F complete sets. */
  houseYesMicro: bigint;
  houseNoMicro: bigint;
  /** What settles it without a person, canonical JSON; null where a person must. */
  terms: string | null;
}

/** What changes of a market: its pool, status and volume, and the sums of the hour in which it traded last. */
export interface MarketState extends Versioned, Pool, HourSums {
  marketId: string;
  status: StoredStatus;
  /** Gross amounts traded, fees included. */
  volumeMicro: bigint;
  outcome: Side | null;
  settledAt: number | null;
  /** Whether the audit log holds the entry of the market's closing. */
  closingRecorded: boolean;
}

/** What the oracle knows of a market that a machine settles. */
export interface Watch extends Versioned {
  marketId: string;
  /** The instant whose price decides the market, milliseconds since 1970. */
  instantAt: number;
  /** Whether the reference was parsed. False for a market that only `resolution_url` can settle. */
  parsed: boolean;
  settled: boolean;
  /** Why the oracle leaves the market to a person; null while it does not. */
  hold: { reason: string; detail: string; at: number } | null;
}

export interface Trader extends Versioned, TraderStanding {
  id: string;
  /** `verifiedAt` of the last KYC event applied; older ones change nothing. */
  kycAt: number | null;
  suitabilityAt: number | null;
  createdAt: number;
}

/** When a user's sessions end, derived from the audit log: no table holds it, so only an entry can change it. */
export interface Revocation {
  /** Tokens issued before this instant are refused; null when no token is. */
  before: number | null;
}

/** Shares of one side of a market, and the sums of the day on which the trader traded them last. */
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
  /** What an admin key may do; a public key has none. */
  scopes: readonly Scope[];
  /** CIDR ranges that it works from; without any it works from anywhere. */
  from: readonly string[];
  createdAt: number;
  expiresAt: number | null;
  /** Whether it was ended because its value leaked: no key may have the value again. */
  leaked: boolean;
  /** Whether the audit log states the key as this row does. A key that it does not state is refused. */
  onRecord: boolean;
}

/**
 * The tenant's row as the audit log states it. Commands that write the row start from it, so edits past the log are
 * lost.
 */
export interface TenantRecord {
  /** By the last entry that states the row; null when none does. Its document is null where the log has another one. */
  stated: (Omit<Tenant, "document" | "version"> & { document: string | null }) | null;
  /** Whether the row differs from what the log states. */
  strays: boolean;
}

/** Until when applies are refused, derived from the audit log: no table holds it, so only an entry can change it. */
export interface Freeze {
  /** Null once it was lifted. One that has passed holds no longer. */
  until: number | null;
}

/** A row that decides money and that no audit entry states. */
export interface Sealable {
  /** Made with the audit key when the row is written, and checked when it is read. */
  seal?: string;
}

/** A provider's reference that has been counted. It is kept for ever, so that it counts once. */
export interface CountedReference extends Sealable {
  provider: string;
  reference: string;
  amountMicro: bigint;
  userId: string;
}

/** What is known of one payment of a provider, so that refunds and disputes can take back what was credited. */
export interface Payment extends Versioned {
  provider: string;
  reference: string;
  /** Empty until an event names the user, who never changes after that. */
  userId: string;
  creditedMicro: bigint;
  /** What the provider says that it received; null until it does. */
  receivedMicro: bigint | null;
  /** The sum of the refunds that came with ids. */
  refundsMicro: bigint;
  /** The running total of refunds that the provider stated last. */
  refundTotalMicro: bigint;
  /** The sum of the refunds that failed: the provider kept the money. */
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
  /** Of the raw body, hex. */
  sha256: string;
  event: string;
  reference: string | null;
  userId: string | null;
  /** The types of the audit entries that it caused, `kept`, or `no effect`. */
  outcome: string;
  /** The raw body of an event that is only kept; null for others. */
  body: string | null;
  receivedAt: number;
}

export type WithdrawalStatus = "pending" | "approved" | "rejected";

/** Money on its way out: held in the user's pending account until an operator decides. */
export interface Withdrawal extends Versioned {
  id: string;
  traderId: string;
  amountMicro: bigint;
  status: WithdrawalStatus;
  createdAt: number;
  decidedAt: number | null;
}

/** One suitability assessment. All are kept; the trader's row holds the result of the last one. */
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
  /** The market that has a key, or had it once: no other one ever gets it. */
  marketKey: Market;
  marketState: MarketState;
  watch: Watch;
  trader: Trader;
  revocation: Revocation;
  position: Position;
  portfolio: Portfolio;
  /** All positions in a market; loaded for a settlement only. */
  holders: readonly Position[];
  /** All API keys. */
  keyring: readonly ApiKey[];
  apiKey: ApiKey;
  receipt: CountedReference;
  payment: Payment;
  storedAnswer: StoredAnswer;
  withdrawal: Withdrawal;
  assessment: Assessment;
  inboundDelivery: InboundWebhook;
}

export type Table = keyof Tables;

/** The key of a table with one row. */
export const SINGLE = "";

export const positionKey = (traderId: string, marketId: string, side: Side) => `${side}:${marketId}:${traderId}`;
export const referenceKey = (provider: string, reference: string) => `${provider}\n${reference}`;
export const webhookKey = (provider: string, sha256: string) => `${provider}\n${sha256}`;
export const answerKey = (caller: string, key: string) => `${caller}\n${key}`;

/** A need names a row that a command reads, so that it can be loaded before the command executes. */
export interface Need {
  table: Table;
  key: string;
}
