/** Part of JavaScript, but not yet of TypeScript's library: creates a value that `JSON.stringify` writes as the given text. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => object };

/**
 * A number in its original notation, which `JSON.parse` would round to a double. It calculates and compares as the
 * nearest double, and converts to text with all its digits.
 */
export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  toJSON(): object {
    return rawJSON(this.text);
  }

  toFixed(decimals: number): string {
    const fixed = { useGrouping: false, minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    return new Intl.NumberFormat("en", fixed).format(this.text as Intl.StringNumericLiteral);
  }
}

export type JsonValue = null | boolean | string | NumberText | JsonValue[] | { [key: string]: JsonValue };

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

const parseWith = (text: string, reviver: Reviver): unknown =>
  JSON.parse(text, reviver as (key: string, value: unknown) => unknown);

const DECIMAL = /^([-+]?)(\d*)\.?(\d*)(?:e([-+]?\d+))?$/i;

/** Sign, significant digits and power of ten of a decimal, so that equal numbers have equal forms; other text is unchanged. */
function normalDecimal(text: string): string {
  const [matches, sign, whole = "", fraction = "", power = "0"] = DECIMAL.exec(text) ?? [];
  if (matches === undefined) return text;
  const digits = (whole + fraction).replace(/^0+/, "");
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  const minus = sign === "-" ? "-" : "";
  return end === 0
    ? `${minus}0`
    : `${minus}${digits.slice(0, end)}e${Number(power) - fraction.length + digits.length - end}`;
}

/** Whether a decimal survives conversion to a double: `0.1` does; `9007199254740993`, `1e400` and `-0` do not. */
export function isKeptByDouble(text: string): boolean {
  return normalDecimal(text) === normalDecimal(String(Number(text)));
}

/** The error for a number that would change silently. */
export const NOT_KEPT =
  "is a number that JSON readers change: write it with at most 15 digits, or in quotes where the field takes a text";

/** A pattern that every such number matches: 16 digits, an exponent, or a minus before 0. Other text may match too. */
const MAYBE_LOST = /(?:^|[[:,\s])(?:-0|-?[\d.]+e|-?[\d.]{16})/i;

/**
 * Like `JSON.parse`, but a number that a double cannot hold becomes a {@link NumberText}.
 * @throws SyntaxError for text that is not JSON
 */
export function parseLossless(text: string): unknown {
  if (!MAYBE_LOST.test(text)) return JSON.parse(text);
  return parseWith(text, (_, value, { source = "" }) =>
    typeof value === "number" && !isKeptByDouble(source) ? new NumberText(source) : value,
  );
}

/** The path of the first {@link NumberText} in a parsed value, such as `meta.sizes.0`; undefined if there is none. */
export function pathOfNumberText(value: unknown): string | undefined {
  if (value instanceof NumberText) return "";
  if (typeof value !== "object" || value === null) return undefined;
  // A list of keys and values for each object of each body would be garbage.
  for (const key in value) {
    const path = pathOfNumberText((value as Record<string, unknown>)[key]);
    if (path !== undefined) return path === "" ? key : `${key}.${path}`;
  }
  return undefined;
}

/** Deeper than any useful answer. The reviver would exhaust the stack at some thousands of levels. */
const MAX_DEPTH = 100;

/**
 * Parses JSON and keeps every number as its own text.
 * @throws SyntaxError for text that is not JSON or nested too deeply
 */
export function parseExactJson(text: string): JsonValue {
  if (isDeeperThan(MAX_DEPTH, text)) throw new SyntaxError(`more than ${MAX_DEPTH} levels deep`);
  return parseWith(text, (_, value, { source }) =>
    typeof value === "number" ? new NumberText(source ?? String(value)) : value,
  ) as JsonValue;
}

/** Counts brackets outside strings. For text that is not JSON, any result is acceptable. */
function isDeeperThan(limit: number, text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') inString = !inString;
    else if (inString && character === "\\") at += 1;
    else if (inString) continue;
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}

/**
 * Whether an object in a JSON text repeats a key. Readers disagree about which value counts, so such a text is
 * ambiguous.
 */
export function repeatsKey(text: string): boolean {
  const open: Set<string>[] = [];
  // In JSON a string is a key if and only if a colon follows it.
  for (const [token, key] of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(?:\s*:)?|[{}]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (key !== undefined && token.endsWith(":")) {
      const name = JSON.parse(key) as string;
      if (open.at(-1)?.has(name)) return true;
      open.at(-1)?.add(name);
    }
  }
  return false;
}

/**
 * The value at an RFC 6901 pointer, extended by `-1` (the last element of a list) and `*`: the only member, or the only
 * object or list among several, because some sources add a cursor. Undefined if there is no such value, or more than
 * one.
 */
export function resolvePointer(value: JsonValue, pointer: string): JsonValue | undefined {
  const tokens = pointer.split("/").slice(1);
  return tokens.reduce<JsonValue | undefined>((at, token) => {
    if (!isContainer(at)) return undefined;
    if (token === "*") return onlyMember(Object.values(at));
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at))
      return token === "-1" ? at.at(-1) : /^(0|[1-9]\d*)$/.test(token) ? at[Number(token)] : undefined;
    return Object.hasOwn(at, name) ? at[name] : undefined;
  }, value);
}

function onlyMember(members: JsonValue[]): JsonValue | undefined {
  const fitting = members.length > 1 ? members.filter(isContainer) : members;
  return fitting.length === 1 ? fitting[0] : undefined;
}

function isContainer(value: JsonValue | undefined): value is JsonValue[] | { [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !(value instanceof NumberText);
}

/** The text of the number or string at a pointer; undefined for anything else. */
export function numberTextAt(value: JsonValue, pointer: string): string | undefined {
  const found = resolvePointer(value, pointer);
  if (found instanceof NumberText) return found.text;
  return typeof found === "string" ? found : undefined;
}
