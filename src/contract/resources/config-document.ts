import { z } from "zod";
import { MARKET_KINDS } from "../../domain/market/market-makers.ts";
import { MAX_AMOUNT_USD } from "../../domain/money.ts";
import { POLICY_FIELDS } from "../../domain/policy/fields.ts";
import {
  CategorySlug,
  line,
  MarketId,
  MarketKey,
  MarketKind,
  MarketStatus,
  Price,
  Question,
  ResolutionRef,
  Sha256,
  Timestamp,
  text,
  Usd,
} from "../scalars.ts";
import { ProposalId } from "./ends/proposals.ts";
import { ConfigKey } from "./keys.ts";
import { EndTerms, MarketInput, Meta } from "./markets.ts";
import { AppliedPolicy, PolicyImpact, StoredPolicy } from "./policy.ts";

const State = z.enum(["open", "suspended"]);

/** A market to create, with its key in the files and its initial state. */
export const ConfigMarketInput = MarketInput.extend({ key: MarketKey, state: State }).meta({ id: "ConfigMarketInput" });

const usd = z.number().min(0).max(MAX_AMOUNT_USD);

const Terms = z.object({
  question: text(500),
  category: text(64),
  kind: z.enum(MARKET_KINDS),
  p0: z.number().min(0).max(1),
  closeAt: z.number().int(),
  resolutionRef: text(500),
  meta: z.record(z.string(), z.json()),
  liquidityUsd: usd.optional(),
  resolution: EndTerms.optional(),
  state: State,
});
/** A market's terms in a document: dollars (the tenant's default unless stated) and instants in milliseconds. */
export type DeclaredTerms = z.output<typeof Terms>;

const Document = z.object({
  tenant: text(64),
  kyc: z.object({ required: z.boolean() }).catchall(z.json()),
  treasury: z.object({ capitalUsd: usd }).catchall(z.json()),
  markets: z.object({ liquidityUsd: usd }).catchall(z.json()),
  policy: AppliedPolicy,
  /** API keys by name: type, fingerprint, scopes, networks, expiry. */
  keyring: z.record(text(64), text(2000)),
  /** Markets by key. */
  declared: z.record(text(64), Terms.catchall(z.json())),
  /** Live values that an operator kept although the file has other values, by field. */
  adopted: z.record(text(200), z.json()),
});

/**
 * The document that an apply stores for the next plan to compare with. The order of keys, the order of lists that are
 * sets, and explicitly stated defaults do not affect it. It holds references instead of secrets, and fingerprints
 * instead of API keys. Its other sections are those of the tenant file.
 */
export type ConfigDocument = Omit<z.output<typeof Document>, "declared"> & { declared: Record<string, DeclaredTerms> };

/**
 * The parts of a document that later plans read; the other sections are those of the tenant file. This schema changes
 * no value, because documents are compared by their text.
 */
export const ConfigDocumentInput = Document.catchall(z.json()).meta({
  id: "ConfigDocument",
  description: "The tenant's files in canonical form, without secrets, as the base of later plans.",
});

const seq = z.number().int().min(0);
const applied = {
  seq,
  ts: z.string(),
  actor: z.string(),
  reason: z.string().nullable(),
  hash: Sha256.describe("The hash of the apply's audit entry."),
  gitCommit: z
    .string()
    .nullable()
    .describe("The commit of the operator's files; it ends in `-dirty` if an applied file differs from the commit."),
  sha256: z.string().describe("SHA-256 of the document's JSON with sorted keys, computed by the server."),
  fileSha256: z
    .string()
    .nullable()
    .describe("SHA-256 of the tenant file, as `sha256sum` prints it. The apply stated it; the server cannot check it."),
  rollbackTo: seq.nullable().describe("The sequence number of the apply that this one restored."),
  policy: z.array(z.string()).describe("The policy fields that the apply changed."),
  adopted: z.array(z.string()).describe("The fields whose live values the apply kept."),
};
export const AppliedItem = z
  .object({
    ...applied,
    changes: z
      .object({ policy: seq, markets: seq, keys: seq, settings: seq })
      .describe("Number of fields that differ from the previous apply, by topic."),
  })
  .meta({ id: "AppliedItem" });
export const AppliedConfiguration = z
  .object({
    ...applied,
    changes: z
      .array(z.object({ field: z.string(), before: z.json(), after: z.json() }))
      .describe("The fields that differ from the apply before; null where one does not state it."),
    livePolicy: StoredPolicy.describe("The whole policy after the apply, without overrides."),
    changedSince: z.array(z.string()).describe("The policy fields that later applies changed."),
    document: z.record(z.string(), z.json()),
  })
  .meta({ id: "AppliedConfiguration" });

const PlannedField = z
  .object({
    field: z.string(),
    kind: z.string().describe("`drift` and `conflict`: the live value was changed since the last apply."),
    live: z.json(),
    desired: z.json().describe("The value of the earlier apply."),
    direction: z.enum(["loosens", "tightens", "neutral"]).describe("The effect on the limits."),
    by: z
      .object({ seq, ts: z.string(), actor: z.string(), reason: z.string().nullable() })
      .nullable()
      .describe("The entry that changed the live value; null for an apply's."),
  })
  .meta({ id: "PlannedField" });

/** The plan of a rollback, with what carries it out. */
export const RollbackPreview = z
  .object({
    items: z.array(PlannedField).describe("The fields that it would write."),
    settings: z.array(z.string()).describe("Settings that differ, which servers take from the files when they start."),
    kept: z.array(z.string()).describe("Fields that it does not bring back, such as keys."),
    overrides: z
      .array(z.object({ field: z.string(), value: z.json(), until: z.string() }))
      .describe("Overrides in force; they end by themselves."),
    warnings: z.array(z.string()),
    actorsNeeded: z.number().int().min(1).describe("How many actors must agree."),
    agreed: z.array(z.string()).describe("The actors who agree so far."),
    impact: PolicyImpact.nullable().describe("The effect on the trades of the last days; null if no rule changes."),
    input: z.record(z.string(), z.json()).describe("The input of `applyConfig` that carries it out."),
  })
  .meta({ id: "RollbackPreview" });

const marketTerms = {
  id: MarketId,
  question: Question,
  category: CategorySlug,
  kind: MarketKind,
  p0: Price,
  closeAt: Timestamp,
  resolutionRef: ResolutionRef,
  meta: Meta,
  liquidityUsd: Usd,
  status: MarketStatus,
  proposalId: ProposalId.nullable().describe(
    "The proposal about the market that waits; while one to settle or void it waits, the market cannot be resumed.",
  ),
};
const ConfigMarket = z
  .object({
    key: z.string().describe("The market's key in the tenant's files."),
    ...marketTerms,
    formerKeys: z.array(z.string()).describe("The market's earlier keys."),
  })
  .meta({ id: "ConfigMarket", description: "A market with a key, from its file or from its creation." });
export const UnsettledMarket = z
  .object({
    key: z.string().nullable().describe("The market's key in files; null for a market without one."),
    ...marketTerms,
  })
  .meta({ id: "UnsettledMarket", description: "An unsettled market, in the form of a market file." });

const ConfigChange = z
  .object({
    seq,
    type: z.string(),
    actor: z.string(),
    ts: z.string(),
    payload: z.record(z.string(), z.json()),
  })
  .meta({
    id: "ConfigChange",
    description: "The audit entry of a configuration change that was not made by an apply.",
  });

export const Freeze = z
  .object({
    tenant: z.string(),
    frozenUntil: Timestamp.nullable().describe("When the freeze ends; null while the configuration is not frozen."),
    reason: z.string().nullable(),
    by: z
      .string()
      .nullable()
      .meta({ description: "Who froze it.", examples: ["admin:ops"] }),
  })
  .meta({ id: "Freeze" });

export const FreezeInput = z
  .object({
    until: Timestamp.describe("When the freeze ends by itself; at most 30 days ahead."),
    reason: line(500).optional().describe("The reason; required here or in the header `Audit-Reason`."),
  })
  .meta({ id: "FreezeInput" });

export const LiveConfiguration = z
  .object({
    tenant: text(64),
    version: seq.describe("Rises with every change; 0 for a tenant that was never applied."),
    policy: StoredPolicy.describe("The policy without the temporary overrides."),
    overrides: z.array(z.object({ field: z.enum(POLICY_FIELDS), value: z.json(), until: Timestamp })),
    kycRequired: z.boolean(),
    liquidityUsd: Usd,
    capitalUsd: Usd.describe("The capital moved into the treasury so far."),
    treasuryUsd: Usd.describe("The treasury's balance."),
    atRiskUsd: Usd.describe(
      "The house's liquidity in unsettled markets, which is the most that settlements as yes or no can cost it; a void may cost more.",
    ),
    keys: z.array(ConfigKey).describe("The keys in force."),
    endedKeys: z.array(ConfigKey).describe("The keys that were revoked or have expired."),
    markets: z.array(ConfigMarket).describe("The markets with a key, including settled ones."),
    document: z.record(z.string(), z.json()).nullable().describe("The document of the last apply."),
    changes: z.array(ConfigChange).describe("The latest changes, newest first, at most 1000."),
    freeze: Freeze.omit({ tenant: true }).describe(
      "The freeze that blocks applies and rollbacks; its fields are null while there is none.",
    ),
    now: Timestamp,
  })
  .meta({ id: "LiveConfiguration" });
