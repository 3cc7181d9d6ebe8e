import { Environment } from "@marcbachmann/cel-js";
import { isSimple, POLICY_FIELDS, rowOf } from "../../domain/policy/fields.ts";
import { problemOfRule, typed } from "./rule-problem.ts";

/** The names that an expression may use, with the type that CEL checks them by. */
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

/** CEL compares a double with an int and does no arithmetic between them; here `feeBps * 2` reads as people mean it. */
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

/** What an expression came to: a boolean, or why it has none. */
export type Evaluated = { value: boolean } | { problem: string };

/**
 * Evaluates an expression. Undefined for one that asks about `plan` where there is none.
 *
 * @param facts the values of the names; `plan` may be missing
 */
export function evaluate(expression: string, facts: Readonly<Record<string, unknown>>): Evaluated | undefined {
  try {
    const parsed = celEnvironment().parse(expression);
    const { valid, type, error } = parsed.check();
    if (!valid) return { problem: problemOfRule(error, expression, facts) };
    if (type !== "bool" && type !== "dyn")
      return { problem: `it is ${typed(type ?? "")}, and a rule is true or false` };
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
