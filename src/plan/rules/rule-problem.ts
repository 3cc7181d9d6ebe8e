import { nearest } from "../../domain/nearest.ts";
import { counted } from "../../domain/text.ts";

/** Names of CEL's types for people; another type is "a value". */
const TYPES: Readonly<Record<string, string>> = {
  double: "a number",
  int: "a number",
  uint: "a number",
  string: "a text",
  bool: "true or false",
  null: "null",
  bytes: "bytes",
  list: "a list",
  map: "a mapping",
  "google.protobuf.Timestamp": "a time",
  "google.protobuf.Duration": "a duration",
};

const FUNCTIONS =
  "size has contains startsWith endsWith matches all exists exists_one filter map timestamp duration int double string".split(
    " ",
  );

/** Errors whose kind alone explains them, without the library's text. */
const BY_CODE: Readonly<Record<string, string>> = {
  division_by_zero: "it divides by zero",
  modulo_by_zero: "it divides by zero",
  numeric_overflow: "the number is too large",
  invalid_duration: 'a duration is a text such as "90s" or "1h30m"',
  invalid_timestamp: 'a time is a text such as "2030-01-31T18:00:00Z"',
  invalid_regular_expression: "the pattern is no regular expression",
  invalid_logical_operand: "&&, || and ! take what is true or false",
  invalid_condition_type: "the condition is neither true nor false",
  invalid_index_type: "a list is asked by number, from 0",
  unterminated_string: "a text lacks its closing quote",
};

/** The part of the CEL library's errors that is used here. */
interface CelError {
  code: string;
  summary: string;
  range: { start: number; end: number };
}

/**
 * The problem of an expression, in our words: its part, and which types do not fit.
 * @param facts the values of the names, for suggesting a similar name
 */
export function problemOfRule(error: unknown, expression: string, facts: Readonly<Record<string, unknown>>): string {
  if (!isCelError(error)) return "it cannot be read";
  const { code, summary, range } = error;
  const part = expression.slice(range.start, range.end);
  const cannot = (why: string) => `\`${part}\` cannot be evaluated: ${why}`;
  switch (code) {
    case "unknown_variable":
      return missing("", part, facts);
    case "no_such_key":
      return missingKey(expression, range.end, part, facts);
    case "cannot_index_type":
      return `there is no .${part} of ${typed(quoted(summary))}`;
    case "index_out_of_bounds":
      return `there is no \`${part}\`: the list has ${sizeIn(summary)}, from [0]`;
    case "no_such_overload":
      return cannot(operatorProblem(summary.replace("no such overload: ", "")));
    case "no_matching_overload":
      return cannot(functionProblem(quoted(summary)));
    case "unexpected_token":
    case "unexpected_character":
    case "expected_token":
      return unreadable(expression, range.start);
    default:
      return cannot(BY_CODE[code] ?? "its values do not allow it");
  }
}

/** The name of a CEL type for people. */
export function typed(type: string): string {
  const inner = /^dyn<(.+)>$/.exec(type.trim())?.[1] ?? type.trim();
  return TYPES[inner.replace(/<.*/, "")] ?? "a value";
}

function isCelError(error: unknown): error is CelError {
  return error instanceof Error && "code" in error && "summary" in error && "range" in error && error.range != null;
}

function quoted(summary: string): string {
  return /'(.+)'/s.exec(summary)?.[1] ?? "";
}

function unreadable(expression: string, at: number): string {
  if (at >= expression.trimEnd().length) return "it ends too early: something is missing after its last character";
  if (expression.charAt(at) === "=") return `it cannot be read at character ${at + 1}: == compares`;
  return `it cannot be read at character ${at + 1}`;
}

/** A part such as `labels.x`, whose mapping has other keys. */
function missingKey(expression: string, end: number, part: string, facts: Readonly<Record<string, unknown>>): string {
  const [, owner, key] = /([A-Za-z_][\w.]*)\.(\w+)$/.exec(expression.slice(0, end)) ?? [];
  if (owner === undefined || key === undefined) return `there is no \`${part}\``;
  const mapping = owner.split(".").reduce<unknown>((value, name) => Object(value)[name], facts);
  return missing(`${owner}.`, key, Object(mapping), `; has(${owner}.${key}) asks whether it is there`);
}

function missing(owner: string, name: string, known: object, remedy = ""): string {
  const names = Object.keys(known);
  const near = nearest(name, names);
  if (near !== undefined) return `there is no ${owner}${name}; did you mean ${owner}${near}?`;
  return `there is no ${owner}${name}; the names are: ${names.join(", ") || "none"}${remedy}`;
}

function operatorProblem(signature: string): string {
  const [, left, sign, right] = /^(\S+) (\S+) (\S+)$/.exec(signature) ?? [];
  if (left === undefined || sign === undefined || right === undefined)
    return `${signature.charAt(0)} does not go with ${typed(signature.slice(1))}`;
  return `${sign} does not go between ${typed(left)} and ${typed(right)}`;
}

/** @param call such as `size(double)` or `dyn.startswith(string)` */
function functionProblem(call: string): string {
  const [, receiver, name = "", types = ""] = /^(?:(.+)\.)?(\w+)\((.*)\)$/s.exec(call) ?? [];
  if (!FUNCTIONS.includes(name)) {
    const near = nearest(name, FUNCTIONS);
    return near === undefined ? `there is no function ${name}` : `there is no function ${name}; did you mean ${near}?`;
  }
  const taken = types === "" ? "nothing" : types.split(", ").map(typed).join(" and ");
  return `${name} does not take ${taken}${receiver === undefined ? "" : ` of ${typed(receiver)}`}`;
}

/** The length of the list that a summary names. */
function sizeIn(summary: string): string {
  const [, size] = /size (\d+)/.exec(summary) ?? [];
  return size === undefined ? "fewer entries" : counted(Number(size), "entry", "entries");
}
