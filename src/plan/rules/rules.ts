import { createContext, Script } from "node:vm";
import { Environment } from "@marcbachmann/cel-js";
import { ConfigError, type Finding } from "../../config/config-error.ts";
import type { Rule } from "../../config/schema/policy-block.ts";
import type { Labels } from "../../config/selection/selector.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { ConfigDocument } from "../../contract/resources/config-document.ts";
import { isSimple, POLICY_FIELDS, rowOf } from "../../domain/policy/fields.ts";
import { DEFAULT_POLICY, mergePolicy, type Policy } from "../../domain/policy/policy.ts";
import { tradingTerms } from "../judge.ts";
import { written } from "../plan-decision.ts";
import type { BrokenRule, Desired, LiveConfig, Plan, PlanMoney } from "../plan-types.ts";
import { problemOfRule, typed } from "./rule-problem.ts";

/** The values of the names that an expression may use. */
interface RuleFacts extends Policy {
  /** In USD. */
  worstCaseLoss: number;
  treasury: number;
  /** The tenant file with its defaults. */
  tenant: object;
  labels: Labels;
  /** The markets of the market files, with `closeAt` as a `Date`. */
  markets: readonly object[];
  now: Date;
  /** Undefined without a plan: rules about it are then left out. */
  plan?: object;
}

/** The facts in a tenant's files. */
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
    ...factsOfFiles(desired.document, labels, Date.parse(live.now)),
    ...tradingTerms(plan, desired, live).after.policy,
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
 * Adds the results of the operator's rules to a plan.
 * @throws ConfigError with the rules that cannot be evaluated
 */
export function judgeByRules(
  plan: Plan & { money: PlanMoney },
  desired: Desired,
  live: LiveConfig,
  { rules, labels, source }: TenantConfig,
): Plan {
  const { broken, invalid } = evaluateRules(rules, factsOfPlan({ plan, desired, live, money: plan.money }, labels));
  if (invalid.length > 0) throw new ConfigError(source.problems(invalid));
  const warned = broken.filter(({ effect }) => effect === "warn");
  const others = broken.filter(({ effect }) => effect !== "warn");
  return {
    ...plan,
    warnings: [...plan.warnings, ...warned.map(({ name, message }) => `rules.${name}: ${message}`)],
    ...(others.length > 0 && { rules: others.map(({ name, effect, message }) => ({ name, effect, message })) }),
  };
}

/**
 * The rules that do not hold, and the problems of those that cannot be evaluated, at their places in the file. When the
 * common time is over, the rule that was being evaluated is the last one reported.
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
      const message = `the rule ${rule.name} cannot be evaluated: ${outcome.problem}`;
      return [{ path: ["rules", index, "expr"], message, code: "RULE_INVALID" }];
    }),
  };
}

/** The rules' results for the files alone, as findings. */
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

/** The names that an expression may use, with their CEL types. */
const NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    POLICY_FIELDS.map((field) => {
      const row = rowOf(field);
      if (!isSimple(row) || row.kind === "address") return [field.split(".")[0] ?? field, "dyn"];
      return [field, row.kind === "flag" ? "bool" : "double"];
    }),
  ),
  worstCaseLoss: "double",
  treasury: "double",
  tenant: "dyn",
  labels: "dyn",
  markets: "list",
  now: "google.protobuf.Timestamp",
  plan: "dyn",
};

/** CEL compares a double with an int but does no arithmetic between them; here `feeBps * 2` works as people expect. */
const ARITHMETIC: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
};

let environment: Environment | undefined;

function celEnvironment(): Environment {
  if (environment) return environment;
  const made = new Environment({ homogeneousAggregateLiterals: false });
  for (const [name, type] of Object.entries(NAMES)) made.registerVariable(name, type);
  for (const [sign, calculate] of Object.entries(ARITHMETIC))
    for (const types of ["double SIGN int: double", "int SIGN double: double"])
      made.registerOperator(types.replace("SIGN", sign), (left: number | bigint, right: number | bigint) =>
        calculate(Number(left), Number(right)),
      );
  made.registerOperator(
    "double == int",
    (left: number | bigint, right: number | bigint) => Number(left) === Number(right),
  );
  environment = made;
  return made;
}

/** The result of an expression: a boolean, or why there is none; `isLate` when the time was over. */
type Evaluated = { value: boolean } | { problem: string; isLate?: true };

/** The time for all rules of a tenant together. */
const RULES_MS = 1000;

/** Node can stop only scripts at a deadline: this one calls the function of its context. */
const script = new Script("run()");
const bounded = { run: (): void => {} };
createContext(bounded);

/**
 * Evaluates an expression. Undefined for one about `plan` without a plan. CEL has no endless loops, but nested macros
 * and regular expressions may take years, so the evaluation ends at the deadline.
 *
 * @param facts the values of the names; `plan` may be missing
 * @param deadline on the clock of `performance.now()`
 */
export function evaluate(
  expression: string,
  facts: Readonly<Record<string, unknown>>,
  deadline = performance.now() + RULES_MS,
): Evaluated | undefined {
  const left = Math.ceil(deadline - performance.now());
  let evaluated: Evaluated | undefined = {
    problem: `took longer than the ${RULES_MS / 1000} s that all rules of a tenant have`,
    isLate: true,
  };
  if (left <= 0) return evaluated;
  bounded.run = () => {
    evaluated = evaluateNow(expression, facts);
  };
  try {
    script.runInContext(bounded, { timeout: left });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    // The environment was interrupted in an unknown state.
    environment = undefined;
  }
  return evaluated;
}

/** The error comes from the script's context, which has its own `Error`. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}

function evaluateNow(expression: string, facts: Readonly<Record<string, unknown>>): Evaluated | undefined {
  try {
    const parsed = celEnvironment().parse(expression);
    const { valid, type, error } = parsed.check();
    if (!valid) return { problem: problemOfRule(error, expression, facts) };
    if (type !== "bool" && type !== "dyn")
      return { problem: `it is ${typed(type ?? "")}, and a rule must be true or false` };
    if (!("plan" in facts) && namesIn(parsed.ast).has("plan")) return undefined;
    const value: unknown = parsed(facts);
    return typeof value === "boolean" ? { value } : { problem: "it is neither true nor false" };
  } catch (error) {
    return { problem: problemOfRule(error, expression, facts) };
  }
}

function namesIn(node: unknown, names = new Set<string>()): Set<string> {
  if (Array.isArray(node)) for (const each of node) namesIn(each, names);
  else if (typeof node === "object" && node !== null && "op" in node && "args" in node) {
    if (node.op === "id" && typeof node.args === "string") names.add(node.args);
    else namesIn(node.args, names);
  }
  return names;
}
