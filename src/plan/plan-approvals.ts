import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { directionOfRules, ruleFields, rulesIn } from "../domain/policy/approvals.ts";
import { compare, type Findings } from "./plan-compare.ts";
import type { Desired, LiveConfig } from "./plan-types.ts";

/** Plans the rules about who must agree to what. Only an apply changes them, so the live rules are those last applied. */
export function planApprovals({ document }: Desired, base: Partial<ConfigDocument>, { version }: LiveConfig): Findings {
  const [live, wanted] = [rulesIn(base), rulesIn(document)];
  const [from, to] = [ruleFields(live), ruleFields(wanted)];
  const items = [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((field) => {
    const [current, desired] = [from[field] ?? null, to[field] ?? null];
    const direction = version === 0 ? "neutral" : directionOfRules(field, current, desired);
    return compare({ field, base: current, desired, live: current, adopted: undefined, direction });
  });
  return { items, warnings: [] };
}
