import type { WireInput } from "../contract/operations.ts";
import { isSame } from "../domain/audit/audit-link.ts";
import { POLICY_FIELDS, rowOf } from "../domain/policy/fields.ts";
import { mergePolicy, policyPatchOf } from "../domain/policy/policy.ts";
import { policyValue } from "../domain/policy/values.ts";
import { createdMarket, policyFieldOf } from "./plan-compare.ts";
import type { Desired, LiveConfig, Plan, PlanMoney } from "./plan-types.ts";

/** The rules before an apply that writes everything the files want, and after it. */
export function termsOf(plan: Plan, { document }: Desired, live: LiveConfig): WireInput<"previewPolicy"> {
  const fields = plan.items.flatMap((item) => {
    const field = item.kind === "adopted" ? undefined : policyFieldOf(item);
    return field ? [[field, item.desired] as const] : [];
  });
  return {
    before: { policy: live.policy, kycRequired: live.kycRequired },
    after: { policy: mergePolicy(live.policy, policyPatchOf(fields)), kycRequired: document.kyc.required },
  };
}

/** Whether a rule changes that past trades can be checked against. */
export function changesRules({ before, after }: WireInput<"previewPolicy">): boolean {
  if (before.kycRequired !== after.kycRequired) return true;
  return POLICY_FIELDS.some((field) => {
    const [from = null, to = null] = [policyValue(before.policy, field), policyValue(after.policy, field)];
    return rowOf(field).previewed && !isSame(from, to);
  });
}

/** What new markets may cost: a market loses at most what the house puts in, so all of them lose at most the sum. */
export function marketMoney(
  plan: Plan,
  { document }: Desired,
  live: LiveConfig,
): Pick<PlanMoney, "newMarkets" | "treasury"> {
  const created = plan.items.flatMap((item) => createdMarket(item) ?? []);
  const worstCaseLossUsd = created.reduce(
    (sum, key) => sum + (document.declared[key]?.liquidityUsd ?? document.markets.liquidityUsd),
    0,
  );
  const nowUsd = live.treasuryUsd;
  const addedUsd = Math.max(0, document.treasury.capitalUsd - live.capitalUsd);
  return {
    newMarkets: { count: created.length, worstCaseLossUsd },
    treasury: { nowUsd, addedUsd, afterUsd: nowUsd + addedUsd - worstCaseLossUsd },
  };
}
