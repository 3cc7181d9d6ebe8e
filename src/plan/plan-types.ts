import type { WireOutput } from "../contract/operations.ts";
import type { ConfigDocument, DeclaredTerms } from "../contract/resources/config-document.ts";
import type { Scope } from "../domain/access/scopes.ts";
import type { Json } from "../domain/audit/audit-link.ts";
import type { Direction } from "../domain/policy/fields.ts";
import type { Override, Policy } from "../domain/policy/policy.ts";

/** An API key of the file. */
export interface DesiredKey {
  name: string;
  type: "admin" | "public";
  /** SHA-256 of the value. It goes to the database; plans show the fingerprint. Undefined where the value is not at hand. */
  hash: string | undefined;
  fingerprint: string;
  scopes: readonly Scope[];
  /** CIDR ranges; none is anywhere. */
  from: readonly string[];
  expiresAt: number | null;
}

/** What the tenant is to be like. */
export interface Desired {
  document: ConfigDocument;
  /** The document to be stored where that is another one: a rollback brings back what was stored with the apply. */
  stored?: ConfigDocument | undefined;
  /** Undefined leaves keys alone: the document of a rollback has no values for them. */
  keys: readonly DesiredKey[] | undefined;
  /** Of the tenant file and the market files. */
  fileSha256: string;
}

/** A key of the database. What is stored of it stays where it is. */
export type LiveKey = Omit<DesiredKey, "hash"> & { createdAt: number };

/** A market that a file created, as it stands. */
export interface AppliedMarket extends Omit<DeclaredTerms, "state" | "liquidityUsd"> {
  key: string;
  id: string;
  liquidityUsd: number;
  status: "open" | "suspended" | "closed" | "settled";
}

/** What the tenant is like. */
export interface LiveConfig {
  /** Of the tenant's row; 0 for a tenant that was never applied. */
  version: number;
  /** Without the overrides. */
  policy: Policy;
  overrides: readonly Override[];
  kycRequired: boolean;
  liquidityUsd: number;
  /** Moved into the treasury so far. */
  capitalUsd: number;
  /** What the treasury holds. */
  treasuryUsd: number;
  /** Keys in force. */
  keys: readonly LiveKey[];
  /** Those that were revoked or have expired. */
  endedKeys: readonly LiveKey[];
  markets: readonly AppliedMarket[];
  /** The last applied document, which an older version may have written; undefined before the first apply. */
  document: Partial<ConfigDocument> | undefined;
  /** By the database's clock, milliseconds since 1970. */
  now: number;
}

/** Who moved a live value last. */
export interface Blame {
  seq: number;
  ts: string;
  actor: string;
  reason: string | null;
}

export type PlanKind =
  /** The file changed, or states something for the first time. */
  | "change"
  /** Something live changed. */
  | "drift"
  /** Both did. */
  | "conflict"
  /** Something live changed, and a person decided to keep it. */
  | "adopted";

/** One managed field whose live value is not the file's. */
export interface PlanItem {
  /** Such as `policy.maxTradeUsd`, `keys.ops` or `markets.rain-2030`. */
  field: string;
  kind: PlanKind;
  /** As last applied; null when it was not stated. */
  base: Json;
  /** As the file has it; null for something that is to go. */
  desired: Json;
  live: Json;
  /** What writing the file's value would do. */
  direction: Direction;
  by?: Blame | undefined;
  /** Why nothing but a change of the file resolves it. */
  problem?: string | undefined;
}

/** The money in a plan. */
export interface PlanMoney {
  newMarkets: { count: number; worstCaseLossUsd: number };
  treasury: { nowUsd: number; addedUsd: number; afterUsd: number };
  /** Null where no rule changes. */
  trades: WireOutput<"previewPolicy"> | null;
}

/** What an apply would do. It holds no secret. */
export interface Plan {
  tenant: string;
  fileSha256: string;
  /** The version of the tenant's row that it was made on. */
  liveVersion: number;
  /** Whether an apply would leave everything as it is. */
  empty: boolean;
  items: PlanItem[];
  /** Paths of the file without a live counterpart that differ from the last applied document. */
  settings: string[];
  warnings: string[];
  /** Changes for a time, which end by themselves and are no drift. */
  overrides: { field: string; value: Json; until: string }[];
  /** Read beside the comparison, where there is a database to read. */
  money?: PlanMoney | undefined;
}
