import { isSame, type Json } from "../audit/audit-link.ts";
import { isMapping } from "../json/mapping.ts";
import type { Direction } from "./fields.ts";

/** How long a decision waits, and how many people it needs. */
export interface Terms {
  /** Hours between a proposal and its execution, so that users can object. */
  holdHours: number;
  /** How many actors must agree, the proposer included. */
  approvals: number;
}

/** The terms that a category or a market states for itself. */
export interface OwnTerms {
  holdHours?: number | undefined;
  approvals?: number | undefined;
}

/** How markets end. */
export interface ResolutionRules extends Terms {
  /** Hours after the settlement within which it can be corrected; 0 for none. */
  correctionHours: number;
  categories: Readonly<Record<string, OwnTerms>>;
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
  { category, own }: { category: string; own: OwnTerms | null },
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

/**
 * The effect of a changed rule, by its field in plans. Fewer actors, a shorter time and a higher limit loosen. So does a
 * longer time for corrections, which makes settlements that were final correctable again.
 * @param from the value before; null for none
 */
export function directionOfRules(field: string, from: unknown, to: unknown): Direction {
  if (field === "resolution.correctionHours") return Number(to) > Number(from) ? "loosens" : "tightens";
  const [before, after] = [strictnessOf(from), strictnessOf(to)];
  const loosens = after.some((value, index) => value < (before[index] ?? 0));
  return loosens ? "loosens" : "tightens";
}

/** The rules by their fields in plans. */
export function ruleFields({ resolution, approvals }: Rules): { [field: string]: Json } {
  const { categories, ...rest } = resolution;
  return Object.fromEntries([
    ...Object.entries(rest).map(([name, value]) => [`resolution.${name}`, value]),
    ...Object.entries(categories).map(([name, terms]) => [`resolution.categories.${name}`, { ...terms }]),
    ...Object.entries(approvals).map(([name, rule]) => [`approvals.${name}`, { ...rule }]),
  ]);
}

/** The rules that differ, by their fields in plans; null for none. */
export function ruleChanges(before: Rules, after: Rules): { [field: string]: { from: Json; to: Json } } {
  const [was, is] = [ruleFields(before), ruleFields(after)];
  const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return Object.fromEntries(
    fields
      .map((field) => [field, { from: was[field] ?? null, to: is[field] ?? null }] as const)
      .filter(([, { from, to }]) => !isSame(from, to)),
  );
}

/** Whether any rule would want less than before. */
export function loosensRules(before: Rules, after: Rules): boolean {
  return Object.entries(ruleChanges(before, after)).some(
    ([field, { from, to }]) => directionOfRules(field, from, to) === "loosens",
  );
}

/** What a rule wants, each as a number that rises with its strictness. */
function strictnessOf(rule: unknown): number[] {
  if (typeof rule === "number") return [rule];
  const { holdHours = 0, approvals = 1, aboveUsd } = (rule ?? {}) as Partial<Terms & MoneyRule>;
  const isRule = rule !== null && aboveUsd !== undefined;
  return [holdHours, approvals, isRule ? -aboveUsd : rule === null ? Number.NEGATIVE_INFINITY : 0];
}
