import type { WireOutput, WireResult } from "../contract/operations.ts";
import type { ConfigDocument } from "../contract/resources/config-document.ts";
import type { Scope } from "../domain/access/scopes.ts";
import type { Json } from "../domain/audit/audit-link.ts";
import type { FeedDefinition } from "../domain/feeds/feed.ts";
import type { FeedHashes } from "../domain/market/terms.ts";
import type { Direction } from "../domain/policy/fields.ts";
import type { Replay } from "../replay/replay.ts";

/** An API key of the file. */
export interface DesiredKey {
  name: string;
  type: "admin" | "public";
  /** SHA-256 of the value, for the database; plans show the fingerprint. Undefined where the value is not available. */
  hash: string | undefined;
  fingerprint: string;
  /** Where its value stands, such as `ACME_ADMIN_KEY`. */
  reference?: string | undefined;
  scopes: readonly Scope[];
  /** CIDR ranges; none is anywhere. */
  from: readonly string[];
  /** ISO 8601. */
  expiresAt: string | null;
}

/** The state that a tenant is to have. */
export interface Desired {
  document: ConfigDocument;
  /** The document to store where it differs: a rollback stores the earlier apply's document again. */
  stored?: ConfigDocument | undefined;
  /** Undefined leaves keys alone: a rollback has no values for them. */
  keys: readonly DesiredKey[] | undefined;
  /** By key, the key that a market had before. */
  moved?: Readonly<Record<string, string>> | undefined;
  /** By key, the id of a market that the files take over. */
  imports?: Readonly<Record<string, string>> | undefined;
  /** Of the tenant file and the market files. */
  fileSha256: string;
  /** Of an earlier apply's files; undefined where the files at hand are meant. */
  gitCommit?: string | null | undefined;
  /** The fields that alone are planned; undefined for all. */
  targets?: readonly string[] | undefined;
  /** What was asked for, whatever is live: by it a repeat under an idempotency key is recognised. */
  asked?: Json | undefined;
}

/** The state that a tenant has, as the server tells it: dollars, and instants in ISO 8601. */
export interface LiveConfig extends Omit<WireResult<"getConfig">, "document"> {
  /** The last applied document, which may lack a section of today; null before the first apply. */
  document: Partial<ConfigDocument> | null;
  /** The unsettled markets without a key, read where files take one over. */
  unkeyed?: readonly UnsettledMarket[] | undefined;
}

export type LiveKey = LiveConfig["keys"][number];

/** A market with a key, as it stands. */
export type AppliedMarket = LiveConfig["markets"][number];

/** A market that is not settled, with a key or without one. */
export type UnsettledMarket = WireResult<"listUnsettledMarkets">["items"][number];

/** The feeds that a tenant's markets may refer to. */
export interface FeedsOfTenant {
  feeds: ReadonlyMap<string, FeedDefinition>;
  hashes: FeedHashes;
  /** Sources that the tenant cannot use yet, by name, with the settings that its file lacks. */
  lacking: ReadonlyMap<string, string>;
}

/** What a plan depends on beside the files and what is live. */
export interface Facts {
  feeds: FeedsOfTenant;
  /** The last price of each feed that new markets refer to, as decimal text. */
  prices: ReadonlyMap<string, string | null>;
  /** Of the key in use; undefined where no scopes bind. */
  scopes: readonly Scope[] | undefined;
  /** What changed rules would have meant for the last 30 days; null where none changes. */
  trades: PlanMoney["trades"];
}

/** Why applies and rollbacks are refused for a while, and until when. */
export type Freeze = LiveConfig["freeze"] & { frozenUntil: string };

/** The audit entry that changed a live value last. */
export interface Blame {
  seq: number;
  ts: string;
  actor: string;
  reason: string | null;
}

/** A rule of the operator that does not hold. */
export interface BrokenRule {
  name: string;
  effect: "deny" | "warn" | "approve";
  message: string;
}

type PlanKind =
  /** The file changed, or states something for the first time. */
  | "change"
  /** Something live changed. */
  | "drift"
  /** Both did. */
  | "conflict"
  /** Something live changed, and an apply was told to keep it. */
  | "adopted"
  /** A market gets another key; `live` is the one that it has. */
  | "move"
  /** The files take over a market that was made otherwise, and give it its first key; `live` is its id. */
  | "import";

/** One managed field whose live value is not the file's. */
export interface PlanItem {
  /** Such as `policy.maxTradeUsd`, `keys.ops` or `markets.rain-2030`. */
  field: string;
  kind: PlanKind;
  /** As last applied; null when it was not stated. */
  base: Json;
  /** As the file has it; null for a key to be revoked. */
  desired: Json;
  live: Json;
  /** What writing the file's value would do. */
  direction: Direction;
  by?: Blame | undefined;
  /** Why only a change of the file resolves it. */
  problem?: string | undefined;
}

/** Why an unattended apply would refuse a plan. */
export interface Refusal {
  /** `approval`: a rule that wants a person's yes. */
  reason: "drift" | "conflict" | "loosening" | "rule" | "freeze" | "approval";
  /** Such as `policy.maxTradeUsd`; null where the refusal is about the tenant as a whole. */
  field: string | null;
  /** What would accept it on the command line; null where only a change of the files helps. */
  flag: string | null;
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
  /** Paths of settings that differ from the last applied document and that the plan has no items for. */
  settings: string[];
  /** The fields that alone were planned; undefined for all. */
  targets?: readonly string[];
  warnings: string[];
  /** The operator's rules that deny this or ask a person; undefined where none does. */
  rules?: BrokenRule[] | undefined;
  /** Policy overrides in force; they end by themselves and are no drift. */
  overrides: { field: string; value: Json; until: string }[];
  /** Undefined unless applies are refused for a while. */
  freeze?: Freeze | undefined;
  /** Undefined where no database was read. */
  money?: PlanMoney | undefined;
  /** Recorded commands under the proposed policy; undefined unless asked for. */
  replay?: Replay | undefined;
}
