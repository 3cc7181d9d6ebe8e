import type { ConfigDocument } from "../contract/resources/config-document.ts";
import type { Json } from "../domain/audit/audit-link.ts";
import { type ApprovalRules, directionOfRules, type Rules, rulesIn } from "../domain/policy/approvals.ts";
import { compare, type Findings } from "./plan-compare.ts";
import type { Desired, LiveConfig } from "./plan-types.ts";

/** Plans the rules about who must agree to what. Only an apply changes them, so the live rules are those last applied. */
export function planApprovals({ document }: Desired, base: Partial<ConfigDocument>, { version }: LiveConfig): Findings {
  const [live, wanted] = [rulesIn(base), rulesIn(document)];
  const [from, to] = [fieldsOf(live), fieldsOf(wanted)];
  const items = [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((field) => {
    const [current, desired] = [from[field] ?? null, to[field] ?? null];
    const direction = version === 0 ? "neutral" : directionOfRules(field, current, desired);
    return compare({ field, base: current, desired, live: current, adopted: undefined, direction });
  });
  return { items, warnings: version === 0 ? [] : needed(live.approvals) };
}

function needed({ apply }: ApprovalRules): string[] {
  if (!apply || apply.approvals <= 1) return [];
  return [
    `an apply needs ${apply.approvals} actors: \`pmctl plan --out FILE\`, \`pmctl approve FILE\` by the others, \`pmctl apply FILE\``,
  ];
}

/** The rules by the fields of plans. */
function fieldsOf({ resolution, approvals }: Rules): { [field: string]: Json } {
  const { categories, ...rest } = resolution;
  return Object.fromEntries([
    ...Object.entries(rest).map(([name, value]) => [`resolution.${name}`, value]),
    ...Object.entries(categories).map(([name, terms]) => [`resolution.categories.${name}`, { ...terms }]),
    ...Object.entries(approvals).map(([name, rule]) => [`approvals.${name}`, { ...rule }]),
  ]);
}
