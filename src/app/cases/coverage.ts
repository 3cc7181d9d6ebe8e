import { STEP_REFUSALS } from "../../config/schema/case-schema.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { PlacedMarket } from "../../config/tenant-files/market-files.ts";
import type { FaultCode } from "../../domain/fault.ts";
import { documentOf } from "../../plan/plan-document.ts";
import type { RanCase } from "./run-case.ts";

/** What cases have met of what there is. */
export interface Coverage {
  /** Every code that a step of a case can be refused with, and the names of the cases in which one was. */
  refusals: { code: FaultCode; cases: string[] }[];
  /** The rules of the tenant files, and how often one was evaluated: over each policy that a case set. */
  rules: { name: string; evaluated: number }[];
}

export function refusalsMet(cases: readonly RanCase[]): Coverage["refusals"] {
  return STEP_REFUSALS.map((code) => ({
    code,
    cases: cases.flatMap(({ result, refused }) => (refused.has(code) ? [result.name] : [])),
  }));
}

/** Rules that ask about a plan are not evaluated: a case has none. */
export async function rulesMet(
  { config, markets }: { config: TenantConfig; markets: readonly PlacedMarket[] },
  cases: readonly RanCase[],
): Promise<Coverage["rules"]> {
  if (config.rules.length === 0) return [];
  const [{ factsOfFiles }, { evaluate }] = await Promise.all([
    import("../../plan/rules/rules.ts"),
    import("../../plan/rules/rules.ts"),
  ]);
  const document = documentOf(config, markets, []);
  const met = cases.flatMap(({ policies }) =>
    policies.map(({ policy, now }) => ({ ...factsOfFiles(document, config.labels, now), ...policy })),
  );
  let isLate = false;
  const isEvaluated = (expr: string, facts: (typeof met)[number]): boolean => {
    if (isLate) return false;
    const outcome = evaluate(expr, facts) ?? {};
    // Of hundreds of policies each would wait for its deadline anew.
    isLate = "isLate" in outcome;
    return "value" in outcome;
  };
  return config.rules.map(({ name, expr }) => ({
    name,
    evaluated: met.filter((facts) => isEvaluated(expr, facts)).length,
  }));
}
