import { isMapping } from "../json/mapping.ts";
import type { Direction } from "./fields.ts";

/** How long a decision waits, and how many people it needs. */
export interface Terms {
  /** Hours between a proposal and its execution, so that users can object. */
  holdHours: number;
  /** How many actors must agree, the proposer included. */
  approvals: number;
}

/** How markets end. */
export interface ResolutionRules extends Terms {
  /** Hours after the settlement within which it can be corrected; 0 for none. */
  correctionHours: number;
  categories: Readonly<Record<string, Partial<Terms>>>;
}

/** Amounts above which money needs more than one person; `aboveUsd` itself does not. */
export interface MoneyRule {
  aboveUsd: number;
  approvals: number;
}

/** Changes that need more than one person. */
export interface ApprovalRules {
  withdraw?: MoneyRule;
  credit?: MoneyRule;
  loosen?: { approvals: number };
  key?: { approvals: number };
  apply?: { approvals: number };
}

/** The sections `resolution` and `approvals` of a tenant. */
export interface Rules {
  resolution: ResolutionRules;
  approvals: ApprovalRules;
}

const DEFAULT_RESOLUTION: ResolutionRules = { holdHours: 0, approvals: 1, correctionHours: 0, categories: {} };

/** The rules of a tenant that states none. */
export const NO_RULES: Rules = { resolution: DEFAULT_RESOLUTION, approvals: {} };

/** A tenant's row, whose applied document states the rules. */
interface Documented {
  document: string;
}

const parsed = new WeakMap<Documented, Rules>();

/** The rules in force: those of the document that was last applied. */
export function rulesOf(tenant: Documented): Rules {
  const known = parsed.get(tenant);
  if (known) return known;
  const rules = tenant.document === "" ? NO_RULES : rulesIn(JSON.parse(tenant.document));
  parsed.set(tenant, rules);
  return rules;
}

/** The rules that a document states; one of an earlier version states none. */
export function rulesIn(document: unknown): Rules {
  if (!isMapping(document)) return NO_RULES;
  const { resolution, approvals } = document as Partial<Rules>;
  return { resolution: { ...DEFAULT_RESOLUTION, ...resolution }, approvals: approvals ?? {} };
}

/** The strictest terms of tenant, category and market. */
export function termsOfEnd(
  { resolution }: Rules,
  { category, own }: { category: string; own: Partial<Terms> | null },
): Terms {
  const stated = [
    resolution,
    Object.hasOwn(resolution.categories, category) ? resolution.categories[category] : {},
    own,
  ];
  return {
    holdHours: Math.max(...stated.map((each) => each?.holdHours ?? 0)),
    approvals: Math.max(...stated.map((each) => each?.approvals ?? 1)),
  };
}

/** Whether fewer people or a shorter time stand between a decision and its effect. */
export function directionOfRule(from: number, to: number): Direction {
  return to === from ? "neutral" : to < from ? "loosens" : "tightens";
}
