import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import {
  MarketId,
  MarketKey,
  paging,
  queryInteger,
  Sha256,
  Timestamp,
  text,
  UsdAmount,
  UsdOrNone,
} from "../scalars.ts";
import {
  AppliedConfiguration,
  AppliedItem,
  ConfigDocumentInput,
  ConfigMarketInput,
  Freeze,
  FreezeInput,
  LiveConfiguration,
  RollbackPreview,
  UnsettledMarket,
} from "./config-document.ts";
import { Fingerprint, KeyName, KeyNetworks, KeyScopes, KeyType } from "./keys.ts";
import { PolicyImpact, PolicyWhole, TradingTerms } from "./policy.ts";

const seq = z.number().int().min(0);
const TenantId = text(64).meta({ description: "The tenant's id.", examples: ["acme"] });
const MAX_KEYS = 1000;
const MAX_MARKETS = 10_000;
const StoredState = z.enum(["open", "suspended"]);

/** The index of the first repeated value; -1 when there is none. */
function firstRepeated(values: readonly string[]): number {
  const seen = new Set<string>();
  return values.findIndex((value) => {
    const isRepeated = seen.has(value);
    seen.add(value);
    return isRepeated;
  });
}

const ConfigKeyInput = z.object({
  name: KeyName,
  type: KeyType,
  sha256: Sha256,
  scopes: KeyScopes.optional().describe("The scopes of an admin key; the default is `*`."),
  from: KeyNetworks.default([]),
  expiresAt: Timestamp.nullable(),
});

export const ConfigInput = z
  .object({
    tenant: TenantId,
    ifVersion: seq.describe("The live version on which the plan is based; the apply fails if it differs."),
    policy: PolicyWhole.describe("The fields to change; others keep their live values."),
    kycRequired: z.boolean(),
    liquidityUsd: UsdAmount,
    capitalUsd: UsdOrNone.describe(
      "The total capital. It can only rise; the apply moves the difference into the treasury.",
    ),
    keys: z
      .array(ConfigKeyInput)
      .max(MAX_KEYS)
      .describe("Keys to create, by the SHA-256 of their values; other keys do not change."),
    revoke: z.array(z.object({ name: KeyName, fingerprint: Fingerprint })).max(MAX_KEYS),
    markets: z.array(ConfigMarketInput).max(MAX_MARKETS).describe("Markets to create."),
    feeds: z
      .record(text(128), Sha256)
      .describe("SHA-256 of the definitions of the feeds that those markets refer to, by feed key."),
    names: z
      .array(z.object({ marketId: MarketId, key: MarketKey, from: MarketKey.optional() }))
      .max(MAX_MARKETS)
      .default([])
      .describe(
        "Markets that get a new key in place of `from`. Without `from`, the files take over a market that was created otherwise.",
      ),
    marketStates: z
      .array(z.object({ marketId: MarketId, from: StoredState, to: StoredState }))
      .max(MAX_MARKETS)
      .describe("Markets to suspend or resume; an error if a market's status is not `from`."),
    document: ConfigDocumentInput,
    documentSha256: Sha256.describe(
      "SHA-256 of the operator's files, recorded as stated; the server computes the document's hash itself.",
    ),
    gitCommit: z
      .string()
      .regex(/^[0-9a-f]{7,64}(-dirty)?$/, "must be the hash of a commit, with -dirty if a file differs from the commit")
      .nullable()
      .default(null)
      .meta({ examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"] }),
    rollbackTo: seq
      .nullable()
      .default(null)
      .meta({ examples: [7] }),
    adopted: z.array(text(200)).max(MAX_MARKETS).default([]),
    breakFreeze: z
      .boolean()
      .default(false)
      .describe("Apply although the configuration is frozen; requires a reason in `Audit-Reason`."),
  })
  .check(({ value, issues }) => {
    const { keys, markets, names } = value;
    for (const [list, field, values] of [
      ["keys", "name", keys.map(({ name }) => name)],
      ["keys", "sha256", keys.map(({ sha256 }) => sha256)],
      ["markets", "key", markets.map(({ key }) => key)],
      ["names", "key", names.map(({ key }) => key)],
      ["names", "marketId", names.map(({ marketId }) => marketId)],
    ] as const) {
      const index = firstRepeated(values);
      if (index >= 0) issues.push({ code: "custom", input: value, path: [list, index, field], message: "is repeated" });
    }
  })
  .meta({ id: "ConfigInput" });

const { operation, operatorRead, configRead, operatorChange } = operationsUnder("operations", { extension: true });

export const configOperations = {
  getFreeze: operatorRead({
    path: "/v1/config/freeze",
    summary: "Get the freeze of the configuration: whether it is frozen, by whom and why.",
    output: Freeze,
  }),
  freezeConfig: operatorChange("config", {
    method: "PUT",
    path: "/v1/config/freeze",
    summary: "Freeze the configuration: applies and rollbacks fail until the given time. Replaces an earlier freeze.",
    input: FreezeInput,
    output: Freeze,
    refusals: [],
  }),
  unfreezeConfig: operatorChange("config", {
    method: "DELETE",
    path: "/v1/config/freeze",
    summary: "Lift the freeze, if there is one.",
    output: Freeze,
    refusals: [],
  }),
  getConfig: configRead({
    path: "/v1/config",
    summary: "Get the live configuration.",
    output: LiveConfiguration,
  }),
  listUnsettledMarkets: configRead({
    path: "/v1/config/markets",
    summary: "List unsettled markets by id, with all fields of a market file.",
    input: z.object(paging),
    output: z.array(UnsettledMarket),
    paged: true,
  }),
  listApplies: configRead({
    path: "/v1/config/history",
    summary: "List the applies, newest first.",
    input: z.object(paging),
    output: z.array(AppliedItem),
    paged: true,
  }),
  getApply: configRead({
    path: "/v1/config/history/:seq",
    summary: "Get one apply with its document.",
    input: z.object({ seq: queryInteger(z.number().int().min(1)) }),
    output: AppliedConfiguration,
  }),
  previewRollback: configRead({
    path: "/v1/config/history/:seq/rollback",
    summary: "Preview going back to an apply: what it would write, and what of it others have to agree to.",
    input: z.object({ seq: queryInteger(z.number().int().min(1)) }),
    output: RollbackPreview,
    refusals: ["REFUSED"],
  }),
  previewPolicy: operation({
    method: "POST",
    path: "/v1/config/impact",
    auth: "admin",
    scope: "config:read",
    summary: "Preview the effect of other rules on the trades of the last 30 days. Changes nothing.",
    input: z.object({ before: TradingTerms, after: TradingTerms }),
    output: PolicyImpact,
    refusals: [],
  }),
  approvePlan: operatorChange("config", {
    path: "/v1/config/approvals",
    summary: "Agree to what an apply with this input would do, where the tenant's applies need several actors.",
    input: ConfigInput,
    output: z
      .object({
        sha256: Sha256.describe("SHA-256 of the input, computed by the server."),
        approvals: z.array(z.object({ by: z.string(), at: Timestamp })).describe("Who agrees so far."),
      })
      .meta({ id: "PlanApproval" }),
    refusals: ["REFUSED", "ALREADY_APPROVED"],
    bodyLimitBytes: 4 * 1024 * 1024,
  }),
  applyConfig: operatorChange("config", {
    path: "/v1/config",
    summary:
      "Apply a plan in one commit. Also needs the scope `markets` to create, suspend or resume markets, `funds` to add capital, and `keys` to change keys.",
    input: ConfigInput,
    output: z.object({
      changed: z.boolean(),
      seq: seq.nullable().describe("The sequence number of the audit entry; null when nothing changed."),
    }),
    refusals: [
      "FROZEN",
      "APPROVALS_MISSING",
      "KEY_IN_USE",
      "CONFIG_INVALID",
      "REFUSED",
      "TREASURY_INSUFFICIENT",
      "MARKET_NOT_FOUND",
      "MARKET_SETTLED",
      "MARKET_CLOSED",
    ],
    changes: "keys",
    bodyLimitBytes: 4 * 1024 * 1024,
  }),
};
