import type { KeyType, Scope } from "../domain/access/scopes.ts";
import type { MarketKind, Mechanism, Side, StoredStatus } from "../domain/market/market.ts";
import type { Pool } from "../domain/market/pool.ts";
import type { Override, Policy } from "../domain/policy/policy.ts";
import type { TraderStanding } from "../domain/trader.ts";

/** A row that changes carries the version it was read at; 0 before it exists. The store writes `version + 1`, guarded. */
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
  kind: MarketKind;
  closeAt: number;
  resolutionRef: string;
  /** Canonical JSON. */
  meta: string;
  createdAt: number;
  /** The market's key in the tenant's files; null for one that no file declared. */
  fileKey: string | null;
  /** The house's own shares: what the opening pool left of the F complete sets. */
  houseYesMicro: bigint;
  houseNoMicro: bigint;
  /** What settles it without a person, canonical JSON; null where a person must. */
  terms: string | null;
}

/** The changing half of a market. */
export interface MarketState extends Versioned, Pool {
  marketId: string;
  status: StoredStatus;
  /** Gross amounts traded, fees included. */
  volumeMicro: bigint;
  outcome: Side | null;
  settledAt: number | null;
  /** Whether the audit log says that the market closed. */
  closingRecorded: boolean;
}

/** What the oracle knows of a market that a machine settles. */
export interface Watch extends Versioned {
  marketId: string;
  /** Whose price decides, milliseconds since 1970. */
  instantAt: number;
  /** Whether the reference was parsed; the others came here by `resolution_url`. */
  parsed: boolean;
  settled: boolean;
  /** Why the market is held; null while it is not. */
  hold: { reason: string; detail: string; at: number } | null;
}

export interface Trader extends Versioned, TraderStanding {
  id: string;
  /** `verifiedAt` of the last KYC event applied; older ones change nothing. */
  kycAt: number | null;
  suitabilityAt: number | null;
  createdAt: number;
}

/** What the audit log says of a user's sessions. No row holds it, so nothing but an entry changes it. */
export interface Revocation {
  /** Tokens issued before this instant are refused; null where none are. */
  before: number | null;
}

export interface Position extends Versioned {
  marketId: string;
  traderId: string;
  side: Side;
  sharesMicro: bigint;
  /** What the trader paid, fees included. */
  costMicro: bigint;
}

/** The cost of a trader's positions in markets not settled. Derived, never stored; who loads it loads the positions too. */
export interface Portfolio {
  exposureMicro: bigint;
}

export type { KeyType };

export interface ApiKey extends Versioned {
  /** SHA-256 of the key, hex. The key itself is never stored. */
  hash: string;
  name: string;
  type: KeyType;
  /** What an admin key may do; a public key has none. */
  scopes: readonly Scope[];
  /** CIDR ranges that it works from; none is anywhere. */
  from: readonly string[];
  createdAt: number;
  expiresAt: number | null;
  /** Whether the audit log says all of this. What it does not say opens nothing. */
  onRecord: boolean;
}

/** The tenant's row against the audit log, for the few commands that write it: what another hand put there is not kept. */
export interface TenantRecord {
  /** As the last entry that states the row says; null where none does. Without the document where the log has another. */
  stated: (Omit<Tenant, "document" | "version"> & { document: string | null }) | null;
  /** Whether the row differs from it in anything. */
  strays: boolean;
}

/** What the log says of keys that older versions left beside it: their entries name no value. */
export interface PastRecord {
  /** Whether the log states keys and configuration whole; then the rest is empty. */
  complete: boolean;
  /** When a key of a name was made or renewed. */
  made: readonly { name: string; type: string; at: number }[];
  /** Values of a name that are older than `at` work until `until` at the latest. */
  ended: readonly { name: string; at: number; until: number }[];
  /** The keys of the document that was applied last. */
  applied: { at: number; keys: readonly { name: string; type: string; fingerprint: string }[] };
}

/** A reference of a provider that was taken into account. It is kept for ever, so that it counts once. */
export interface CountedReference {
  provider: string;
  reference: string;
  amountMicro: bigint;
  userId: string;
}

/** Everything that is known of one payment of a provider, so that refunds and disputes take back what was credited. */
export interface Payment extends Versioned {
  provider: string;
  reference: string;
  /** Empty until an event names the user, who never changes after that. */
  userId: string;
  creditedMicro: bigint;
  /** What the provider says that it received; null while it has not said. */
  receivedMicro: bigint | null;
  /** Refunds counted by their own ids. */
  refundsMicro: bigint;
  /** The running total of refunds that the provider stated last. */
  refundTotalMicro: bigint;
  /** Of the refunds, those that failed: the provider kept the money. */
  refundsFailedMicro: bigint;
  disputedMicro: bigint;
  disputesWonMicro: bigint;
  takenBackMicro: bigint;
}

/** The first result of a request with an `Idempotency-Key`. */
export interface StoredAnswer {
  caller: string;
  key: string;
  requestHash: string;
  status: number;
  body: string;
  createdAt: number;
}

/** What a provider delivered, once per body: kept for ever beside what came of it. */
export interface InboundWebhook {
  provider: string;
  /** Of the raw body, hex. */
  sha256: string;
  event: string;
  reference: string | null;
  userId: string | null;
  /** Types of the audit entries that it caused, `kept`, or `no effect`. */
  outcome: string;
  /** The raw body of an event that is only kept. */
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

/** One suitability assessment. Every one is kept; the trader's row holds what the last one came to. */
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
  account: Account;
  market: Market;
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
  pastRecord: PastRecord;
  receipt: CountedReference;
  payment: Payment;
  storedAnswer: StoredAnswer;
  withdrawal: Withdrawal;
  assessment: Assessment;
  inboundDelivery: InboundWebhook;
}

export type Table = keyof Tables;

/** Tables with one row use this key. */
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
