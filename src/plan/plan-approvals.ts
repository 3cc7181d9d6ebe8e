import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { directionOfRules, ruleChanges, rulesIn } from "../domain/policy/approvals.ts";
import { compare, type Findings } from "./plan-compare.ts";
import type { Desired, LiveConfig } from "./plan-types.ts";

/** Plans the rules about who must agree to what. Only an apply changes them, so the live rules are those last applied. */
export function planApprovals({ document }: Desired, base: Partial<ConfigDocument>, { version }: LiveConfig): Findings {
  const items = Object.entries(ruleChanges(rulesIn(base), rulesIn(document))).flatMap(([field, { from, to }]) => {
    const direction = version === 0 ? "neutral" : directionOfRules(field, from, to);
    return compare({ field, base: from, desired: to, live: from, adopted: undefined, direction });
  });
  return { items, warnings: [] };
}
