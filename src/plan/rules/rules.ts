import type { Finding } from "../../config/config-error.ts";
import type { Rule } from "../../config/schema/rules-schema.ts";
import type { Labels } from "../../config/selection/selector.ts";
import type { ConfigDocument } from "../../contract/resources/config-document.ts";
import { DEFAULT_POLICY, mergePolicy, type Policy } from "../../domain/policy/policy.ts";
import { written } from "../plan-decision.ts";
import { termsOf } from "../plan-money.ts";
import type { BrokenRule, Desired, LiveConfig, Plan, PlanMoney } from "../plan-types.ts";
import { evaluate, RULES_MS } from "./expressions.ts";

/** What rules are evaluated over: the values of the names that an expression may use. */
export interface RuleFacts extends Policy {
  /** USD. */
  worstCaseLoss: number;
  treasury: number;
  /** The tenant file with its defaults. */
  tenant: object;
  labels: Labels;
  /** The market files' markets, `closeAt` as a `Date`. */
  markets: readonly object[];
  now: Date;
  /** Missing where nothing is planned: rules that ask about it are left out then. */
  plan?: object;
}

/** The facts that a tenant's files state by themselves. */
export function factsOfFiles(document: ConfigDocument, labels: Labels, now: number): RuleFacts {
  const { keyring: _, declared, adopted: __, ...tenant } = document;
  const markets = Object.entries(declared).map(([key, { closeAt, ...terms }]) => ({
    key,
    ...terms,
    liquidityUsd: terms.liquidityUsd ?? document.markets.liquidityUsd,
    closeAt: new Date(closeAt),
  }));
  return {
    ...mergePolicy(DEFAULT_POLICY, document.policy),
    worstCaseLoss: markets.reduce((sum, { liquidityUsd }) => sum + liquidityUsd, 0),
    treasury: document.treasury.capitalUsd,
    tenant: { ...tenant, labels },
    labels,
    markets,
    now: new Date(now),
  };
}

/** The facts after an apply of everything that a plan writes. */
export function factsOfPlan(
  { plan, desired, live, money }: { plan: Plan; desired: Desired; live: LiveConfig; money: PlanMoney },
  labels: Labels,
): RuleFacts {
  const changes = written(plan, { onDrift: "overwrite" }).map(
    ({ field, kind, live: from, desired: to, direction }) => ({
      field,
      kind,
      live: from,
      desired: to,
      mark: direction === "neutral" ? null : direction.toUpperCase(),
    }),
  );
  return {
    ...factsOfFiles(desired.document, labels, live.now),
    ...termsOf(plan, desired, live).after.policy,
    worstCaseLoss: live.atRiskUsd + money.newMarkets.worstCaseLossUsd,
    treasury: money.treasury.afterUsd,
    plan: {
      changes,
      newMarkets: money.newMarkets.count,
      loosens: changes.some(({ mark }) => mark === "LOOSENS"),
    },
  };
}

/**
 * The rules that do not hold, and what is wrong with those that cannot be evaluated, at their places in the file. When the
 * time of all is over, the rule that was being evaluated is the last one told of.
 */
export function evaluateRules(
  rules: readonly Rule[],
  facts: RuleFacts,
): { broken: (BrokenRule & { index: number })[]; invalid: Finding[] } {
  const values = { ...facts };
  const deadline = performance.now() + RULES_MS;
  const all = rules.map((rule, index) => ({ rule, index, outcome: evaluate(rule.expr, values, deadline) }));
  const late = all.findIndex(({ outcome }) => outcome && "isLate" in outcome);
  const outcomes = late === -1 ? all : all.slice(0, late + 1);
  return {
    broken: outcomes.flatMap(({ rule: { name, effect, expr, message = expr }, index, outcome }) =>
      outcome && "value" in outcome && !outcome.value ? [{ name, effect, message, index }] : [],
    ),
    invalid: outcomes.flatMap(({ rule, index, outcome }): Finding[] => {
      if (!outcome || !("problem" in outcome)) return [];
      const message = `the rule ${rule.name} cannot be judged: ${outcome.problem}`;
      return [{ path: ["rules", index, "expr"], message, code: "RULE_INVALID" }];
    }),
  };
}

/** What rules say of the files alone, as findings. */
export function ruleFindings(rules: readonly Rule[], facts: RuleFacts): Finding[] {
  const { broken, invalid } = evaluateRules(rules, facts);
  const said = broken.map(({ index, name, effect, message }): Finding => {
    const path = ["rules", index, "expr"];
    if (effect === "deny") return { path, message: `the rule ${name} denies this: ${message}`, code: "RULE_DENIED" };
    const asks = effect === "approve" ? " (an apply asks for approval)" : "";
    return { path, message: `the rule ${name} warns: ${message}${asks}`, code: "RULE_WARNED", severity: "warning" };
  });
  return [...invalid, ...said];
}
