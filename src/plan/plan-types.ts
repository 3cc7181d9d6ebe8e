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
  /** SHA-256 of the value, for the database; plans show the fingerprint. Undefined where the value is missing. */
  hash: string | undefined;
  fingerprint: string;
  /** The place of its value, such as `ACME_ADMIN_KEY`. */
  reference?: string | undefined;
  scopes: readonly Scope[];
  /** CIDR ranges; empty for anywhere. */
  from: readonly string[];
  /** In ISO 8601. */
  expiresAt: string | null;
}

/** The state that a tenant should have. */
export interface Desired {
  document: ConfigDocument;
  /** The document to store if it differs: a rollback stores the earlier apply's document again. */
  stored?: ConfigDocument | undefined;
  /** Undefined leaves keys alone, because a rollback has no values for them. */
  keys: readonly DesiredKey[] | undefined;
  /** A market's former key, by its key. */
  moved?: Readonly<Record<string, string>> | undefined;
  /** The id of a market that the files take over, by key. */
  imports?: Readonly<Record<string, string>> | undefined;
  /** Of the tenant file and the market files. */
  fileSha256: string;
  /** Commit of an earlier apply's files; undefined for the files of this directory. */
  gitCommit?: string | null | undefined;
  /** The only fields to plan; undefined for all. */
  targets?: readonly string[] | undefined;
  /** What the line asked for, whatever is live; identifies a repeat under an idempotency key. */
  asked?: Json | undefined;
}

/** The state that a tenant has, from the server: dollars, and instants in ISO 8601. */
export interface LiveConfig extends Omit<WireResult<"getConfig">, "document"> {
  /** The last applied document, which may lack a newer section; null before the first apply. */
  document: Partial<ConfigDocument> | null;
  /** The unsettled markets without a key, read if files take one over. */
  unkeyed?: readonly UnsettledMarket[] | undefined;
}

export type LiveKey = LiveConfig["keys"][number];

/** A market with a key, in its present state. */
export type AppliedMarket = LiveConfig["markets"][number];

/** An unsettled market, with or without a key. */
export type UnsettledMarket = WireResult<"listUnsettledMarkets">["items"][number];

/** The feeds that a tenant's markets may refer to. */
export interface FeedsOfTenant {
  feeds: ReadonlyMap<string, FeedDefinition>;
  hashes: FeedHashes;
  /** Sources that the tenant cannot use yet, by name, with the settings that its file lacks. */
  lacking: ReadonlyMap<string, string>;
}

/** The facts that a plan depends on in addition to the files and the live state. */
export interface Facts {
  feeds: FeedsOfTenant;
  /** The last price of each feed that new markets refer to, as decimal text. */
  prices: ReadonlyMap<string, string | null>;
  /** Scopes of the key in use; undefined where scopes do not apply. */
  scopes: readonly Scope[] | undefined;
  /** The effect of changed rules on the last 30 days; null where no rule changes. */
  trades: PlanMoney["trades"];
}

/** Why applies and rollbacks are refused, and until when. */
export type Freeze = LiveConfig["freeze"] & { frozenUntil: string };

/** The audit entry that last changed a live value. */
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
  /** The live value changed. */
  | "drift"
  /** Both changed. */
  | "conflict"
  /** The live value changed, and an apply was told to keep it. */
  | "adopted"
  /** A market gets another key; `live` is its present one. */
  | "move"
  /** The files take over a market that was created otherwise, and give it its first key; `live` is its id. */
  | "import";

/** A managed field whose live value differs from the file's. */
export interface PlanItem {
  /** Such as `policy.maxTradeUsd`, `keys.ops` or `markets.rain-2030`. */
  field: string;
  kind: PlanKind;
  /** The last applied value; null when none was stated. */
  base: Json;
  /** The value in the file; null for a key to be revoked. */
  desired: Json;
  live: Json;
  /** The effect of writing the file's value. */
  direction: Direction;
  by?: Blame | undefined;
  /** Why only a change of the files resolves the item. */
  problem?: string | undefined;
}

/** A reason for which an unattended apply would refuse a plan. */
export interface Refusal {
  /** `approval`: a rule needs a person's approval. `actors`: others must approve. */
  reason: "drift" | "conflict" | "loosening" | "rule" | "freeze" | "approval" | "actors";
  /** Such as `policy.maxTradeUsd`; null for a reason that concerns the whole tenant. */
  field: string | null;
  /** The option that accepts it; null where only a change of the files, or another person, helps. */
  flag: string | null;
  /** What another person has to do; undefined where the field says enough. */
  message?: string;
}

/** The money in a plan. */
export interface PlanMoney {
  newMarkets: { count: number; worstCaseLossUsd: number };
  treasury: { nowUsd: number; addedUsd: number; afterUsd: number };
  /** Null where no rule changes. */
  trades: WireOutput<"previewPolicy"> | null;
}

/** What an apply would do. Contains no secret. */
export interface Plan {
  tenant: string;
  fileSha256: string;
  /** The version of the tenant's row that the plan is based on. */
  liveVersion: number;
  /** Whether an apply would change nothing. */
  empty: boolean;
  items: PlanItem[];
  /** Paths of settings that differ from the last applied document and have no items. */
  settings: string[];
  /** The only planned fields; undefined for all. */
  targets?: readonly string[];
  warnings: string[];
  /** The operator's rules that deny the plan or need approval; undefined where there are none. */
  rules?: BrokenRule[] | undefined;
  /** Policy overrides in force; they end by themselves and are no drift. */
  overrides: { field: string; value: Json; until: string }[];
  /** Undefined unless the tenant is frozen. */
  freeze?: Freeze | undefined;
  /** Undefined where no database was read. */
  money?: PlanMoney | undefined;
  /** Recorded commands under the proposed policy; undefined unless the line asks for it. */
  replay?: Replay | undefined;
}
