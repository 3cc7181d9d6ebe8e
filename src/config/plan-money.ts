import { Fault } from "../domain/fault.ts";
import { usdFromMicro } from "../domain/money.ts";
import { mergePolicy, type Policy } from "../domain/policy.ts";
import { policyPatchOf } from "../domain/policy-fields.ts";
import { requireEligible, type TraderStanding } from "../domain/trader.ts";
import { isSame, policyFieldOf } from "./plan-compare.ts";
import type { Desired, LiveConfig, Plan } from "./plan-types.ts";

/** The rules that decide about a trade, as far as the policy makes them. */
export type Rule = "maxTradeUsd" | "maxUserExposureUsd" | "jurisdictions" | "suitability" | "kyc";

/** What a rule, as the files have it, would have done. Refusals of the past are not on record. */
export interface RuleImpact {
  rule: Rule;
  /** Executed trades that would have been refused. */
  refused: { trades: number; usd: number };
  /** Users who may not trade now and then might; null where the record does not tell. */
  admittedUsers: number | null;
  note: string;
}

/** The money in a plan. */
export interface PlanMoney {
  newMarkets: { count: number; worstCaseLossUsd: number };
  treasury: { nowUsd: number; addedUsd: number; afterUsd: number };
  /** Null where no rule changes. */
  trades: { days: number; examined: number; complete: boolean; rules: RuleImpact[] } | null;
}

/** Rules under which a user trades. */
export interface Terms {
  policy: Policy;
  kycRequired: boolean;
}

export interface StandingGroup extends TraderStanding {
  users: number;
  trades: number;
  volumeMicro: bigint;
}

/** The terms before and after an apply that writes all that the files want. */
export function termsOf(plan: Plan, { document }: Desired, live: LiveConfig): { before: Terms; after: Terms } {
  const fields = plan.items.flatMap((item) => {
    const field = item.kind === "adopted" ? undefined : policyFieldOf(item);
    return field ? [[field, item.desired] as const] : [];
  });
  return {
    before: { policy: live.policy, kycRequired: live.kycRequired },
    after: { policy: mergePolicy(live.policy, policyPatchOf(fields)), kycRequired: document.kyc.required },
  };
}

/** What new markets may cost: a market loses at most what the house puts in, so all of them lose at most the sum. */
export function marketMoney(
  plan: Plan,
  { document }: Desired,
  live: LiveConfig,
  treasuryMicro: bigint,
): Pick<PlanMoney, "newMarkets" | "treasury"> {
  const created = plan.items.flatMap(({ field, live: at, problem }) =>
    at === null && problem === undefined && field.startsWith("markets.") ? [field.slice("markets.".length)] : [],
  );
  const worstCaseLossUsd = created.reduce(
    (sum, key) => sum + (document.declared[key]?.liquidityUsd ?? document.markets.liquidityUsd),
    0,
  );
  const nowUsd = usdFromMicro(treasuryMicro);
  const addedUsd = Math.max(0, document.treasury.capitalUsd - live.capitalUsd);
  return {
    newMarkets: { count: created.length, worstCaseLossUsd },
    treasury: { nowUsd, addedUsd, afterUsd: nowUsd + addedUsd - worstCaseLossUsd },
  };
}

/** By the code of the refusal that `requireEligible` gives. */
const RULES: Readonly<Record<string, Rule>> = {
  KYC_REQUIRED: "kyc",
  JURISDICTION_BLOCKED: "jurisdictions",
  SUITABILITY_REQUIRED: "suitability",
};

/**
 * What the rules about who may trade would have done, by the very rules that trades are judged by, on users as they
 * stand today. Of a user without a jurisdiction on record each token decides, so those lists are left out for them.
 */
export function standingImpact(groups: readonly StandingGroup[], before: Terms, after: Terms): RuleImpact[] {
  const listsChange = !isSame(before.policy.jurisdictions, after.policy.jurisdictions);
  const impacts = new Map<Rule, { trades: number; micro: bigint; users: number }>();
  const at = (rule: Rule) => {
    const impact = impacts.get(rule) ?? { trades: 0, micro: 0n, users: 0 };
    impacts.set(rule, impact);
    return impact;
  };
  let unknown = 0;
  for (const group of groups) {
    const [was, is] = [refusalOf(group, before), refusalOf(group, after)];
    if (group.jurisdiction === null && listsChange) unknown += group.trades;
    if (was === undefined && is !== undefined) {
      const impact = at(is);
      impact.trades += group.trades;
      impact.micro += group.volumeMicro;
    }
    if (was !== undefined && is === undefined) at(was).users += group.users;
  }
  if (listsChange) at("jurisdictions");
  return [...impacts].map(([rule, { trades, micro, users }]) => ({
    rule,
    refused: { trades, usd: usdFromMicro(micro) },
    admittedUsers: users,
    note:
      rule === "jurisdictions" && unknown > 0
        ? `by users as they stand today; of ${unknown} trades the user's token alone knew the jurisdiction`
        : "by users as they stand today",
  }));
}

function refusalOf(trader: TraderStanding, { policy, kycRequired }: Terms): Rule | undefined {
  // A restriction is no rule of the policy.
  const judged = { ...trader, restricted: false };
  const known = trader.jurisdiction === null ? { ...policy, jurisdictions: { allowed: [], blocked: [] } } : policy;
  try {
    requireEligible(judged, known, { kycRequired, claimed: undefined });
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return RULES[error.code];
  }
}
