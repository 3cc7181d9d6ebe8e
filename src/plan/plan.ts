import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { isSame, type Json } from "../domain/audit/audit-link.ts";
import { isOfType } from "../domain/audit/audit-payloads.ts";
import type { PolicyChanges } from "../domain/audit/audit-shapes.ts";
import { POLICY_FIELDS, type PolicyField } from "../domain/policy/fields.ts";
import { DEFAULT_POLICY, mergePolicy, type Policy } from "../domain/policy/policy.ts";
import { directionOf, policyValue } from "../domain/policy/values.ts";
import { actorWarnings } from "./plan-actors.ts";
import { planApprovals } from "./plan-approvals.ts";
import { changedSettings, compare, type Findings, isNaming, policyFieldOf } from "./plan-compare.ts";
import { isTargeted } from "./plan-desired.ts";
import { planKeys, planSecrets } from "./plan-keys.ts";
import { planMarkets } from "./plan-markets.ts";
import type { Blame, Desired, LiveConfig, Plan, PlanItem } from "./plan-types.ts";

/**
 * Compares the files with the last applied and the live state, field by field. Items that were changed live name the
 * entry that changed them. Pure.
 */
export function makePlan(desired: Desired, live: LiveConfig): Plan {
  const base = live.document ?? {};
  const now = Date.parse(live.now);
  const { frozenUntil } = live.freeze;
  const planners = [planPolicy, planLimits, planApprovals, planKeys, planMarkets, planSecrets];
  const parts = planners.map((planPart) => planPart(desired, base, live));
  const { targets } = desired;
  // References of secrets follow from the document alone, which has only the targeted ones.
  const isMeant = (field: string) => !targets || field.startsWith("secrets.") || isTargeted(field, targets);
  const items = parts
    .flatMap((part) => part.items)
    .filter(({ field }) => isMeant(field))
    .map((item) => ({ ...item, ...blameOf(item, live) }));
  const settings = live.document === null ? [] : changedSettings(base, desired.document);
  const empty = live.version > 0 && settings.length === 0 && items.every(({ kind }) => kind === "adopted");
  return {
    tenant: desired.document.tenant,
    fileSha256: desired.fileSha256,
    liveVersion: live.version,
    empty,
    items,
    settings,
    ...(targets && { targets }),
    warnings: [...parts.flatMap((part) => part.warnings), ...actorWarnings({ items, empty }, live, desired)],
    ...(frozenUntil !== null && { freeze: { ...live.freeze, frozenUntil } }),
    overrides: live.overrides
      .filter(({ until }) => Date.parse(until) > now)
      .map(({ field, value, until }) => ({ field: `policy.${field}`, value: value as Json, until })),
  };
}

function planPolicy({ document }: Desired, base: Partial<ConfigDocument>, live: LiveConfig): Findings {
  const desired = mergePolicy(live.policy, document.policy);
  const applied = mergePolicy(live.policy, base.policy ?? {});
  const items = POLICY_FIELDS.filter((field) => policyValue(document.policy, field) !== undefined).flatMap((field) => {
    const [wanted, current] = [valueIn(desired, field), valueIn(live.policy, field)];
    const stated = policyValue(base.policy ?? {}, field) !== undefined;
    return compare({
      field: `policy.${field}`,
      base: stated ? valueIn(applied, field) : undefined,
      desired: wanted,
      live: current,
      adopted: base.adopted?.[`policy.${field}`],
      direction: live.version === 0 ? "neutral" : directionOf(field, current, wanted),
    });
  });
  return { items, warnings: [] };
}

function valueIn(policy: Policy, field: PolicyField): Json {
  return policyValue(policy, field) as Json;
}

/** Plans the tenant's own live settings. */
function planLimits({ document }: Desired, base: Partial<ConfigDocument>, live: LiveConfig): Findings {
  const { adopted = {} } = base;
  const required = document.kyc.required;
  const items = [
    ...compare({
      field: "kyc.required",
      base: base.kyc?.required,
      desired: required,
      live: live.kycRequired,
      adopted: adopted["kyc.required"],
      direction: live.version === 0 ? "neutral" : required ? "tightens" : "loosens",
    }),
    ...compare({
      field: "markets.liquidityUsd",
      base: base.markets?.liquidityUsd,
      desired: document.markets.liquidityUsd,
      live: live.liquidityUsd,
      adopted: adopted["markets.liquidityUsd"],
      direction: "neutral",
    }),
  ];
  const { capitalUsd } = document.treasury;
  const treasury: PlanItem = {
    field: "treasury.capitalUsd",
    kind: "change",
    base: base.treasury?.capitalUsd ?? null,
    desired: capitalUsd,
    live: live.capitalUsd,
    direction: "neutral",
  };
  const falls = capitalUsd < live.capitalUsd;
  return {
    items: capitalUsd > live.capitalUsd ? [...items, treasury] : items,
    warnings: falls ? [`treasury.capitalUsd only rises: ${live.capitalUsd} USD stay moved in`] : [],
  };
}

/** The newest entry that changed an item's value live. */
function blameOf(item: PlanItem, live: LiveConfig): { by: Blame } | undefined {
  if (item.kind === "change" || isNaming(item)) return undefined;
  const entry = live.changes.find((each) => touches(each, item, live));
  if (!entry) return undefined;
  const { seq, ts, actor, payload } = entry;
  return { by: { seq, ts, actor, reason: typeof payload.reason === "string" ? payload.reason : null } };
}

function touches(entry: LiveConfig["changes"][number], item: PlanItem, live: LiveConfig): boolean {
  const field = policyFieldOf(item);
  // A plan compares policies without overrides, so an override's entry explains no difference.
  if (field) {
    if (!isOfType(entry, "policy.updated")) return false;
    const { until, changes } = entry.payload;
    return until === undefined && changed(changes, field);
  }
  if (item.field.startsWith("keys."))
    return isOfType(entry, "key.created", "key.revoked") && item.field === `keys.${entry.payload.name}`;
  const market = live.markets.find(({ key }) => item.field === `markets.${key}`);
  return isOfType(entry, "market.suspended", "market.resumed") && entry.payload.marketId === market?.id;
}

function changed(changes: PolicyChanges | undefined, field: PolicyField): boolean {
  const [name = field] = field.split(".");
  const change = changes?.[name];
  if (!change) return false;
  const [from, to] = [change.from, change.to].map((value) => policyValue({ [name]: value }, field) ?? null);
  return !isSame(from ?? null, to ?? null);
}

/** The live configuration of a tenant that was never applied. */
export function neverApplied(tenant: string, now: number): LiveConfig {
  return {
    ...{ tenant, version: 0, policy: DEFAULT_POLICY, overrides: [], kycRequired: true, document: null },
    ...{ liquidityUsd: 0, capitalUsd: 0, treasuryUsd: 0, atRiskUsd: 0 },
    ...{ keys: [], endedKeys: [], markets: [], changes: [] },
    freeze: { frozenUntil: null, reason: null, by: null },
    now: new Date(now).toISOString(),
  };
}
