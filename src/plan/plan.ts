import type { ConfigDocument } from "../contract/resources/config-document.ts";
import type { Json } from "../domain/audit/audit-link.ts";
import { POLICY_FIELDS, type PolicyField } from "../domain/policy/fields.ts";
import { mergePolicy, type Policy } from "../domain/policy/policy.ts";
import { directionOf, policyValue } from "../domain/policy/values.ts";
import { compare, type Findings } from "./plan-compare.ts";
import { planKeys } from "./plan-keys.ts";
import { planMarkets } from "./plan-markets.ts";
import { planSecrets } from "./plan-secrets.ts";
import { changedSettings } from "./plan-settings.ts";
import { isTargeted } from "./plan-target.ts";
import type { Desired, LiveConfig, Plan, PlanItem } from "./plan-types.ts";

/** Compares what the files want with what was last applied and with what is live, field by field. Pure. */
export function makePlan(desired: Desired, live: LiveConfig): Plan {
  const base = live.document ?? {};
  const planners = [planPolicy, planLimits, planKeys, planMarkets, planSecrets];
  const parts = planners.map((planPart) => planPart(desired, base, live));
  const { targets } = desired;
  // References of secrets come of the document alone, which has the targeted ones only.
  const isMeant = (field: string) => !targets || field.startsWith("secrets.") || isTargeted(field, targets);
  const items = parts.flatMap((part) => part.items).filter(({ field }) => isMeant(field));
  const settings = live.document === undefined ? [] : changedSettings(base, desired.document);
  return {
    tenant: desired.document.tenant,
    fileSha256: desired.fileSha256,
    liveVersion: live.version,
    empty: live.version > 0 && settings.length === 0 && items.every(({ kind }) => kind === "adopted"),
    items,
    settings,
    ...(targets && { targets }),
    warnings: parts.flatMap((part) => part.warnings),
    ...(live.freeze && { freeze: live.freeze }),
    overrides: live.overrides
      .filter(({ until }) => until > live.now)
      .map(({ field, value, until }) => ({ field: `policy.${field}`, value, until: new Date(until).toISOString() })),
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

/** The live settings of the tenant itself. */
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
