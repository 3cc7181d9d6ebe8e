/** A number as the text had it: `JSON.parse` alone would round it to a double. */
export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type JsonValue = null | boolean | string | NumberText | JsonValue[] | { [key: string]: JsonValue };

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

/** Deeper than any useful answer; the reviver would exhaust the stack at some thousands of levels. */
const MAX_DEPTH = 100;

/**
 * Parses JSON with every number kept as its own text.
 * @throws SyntaxError for text that is not JSON or nested too deeply
 */
export function parseExactJson(text: string): JsonValue {
  if (isDeeperThan(MAX_DEPTH, text)) throw new SyntaxError(`more than ${MAX_DEPTH} levels deep`);
  const reviver: Reviver = (_, value, { source }) =>
    typeof value === "number" ? new NumberText(source ?? String(value)) : value;
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown) as JsonValue;
}

/** Counts brackets outside of strings. For text that is not JSON either answer will do. */
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
 * Whether an object in a JSON text has a key twice. Readers differ in which of the two values they take, so such a text
 * is ambiguous.
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
 * The value at an RFC 6901 pointer, extended by `-1` (the last element of a list) and `*`: the only member, or among
 * several the only object or list, because some sources put a cursor beside the instrument. Undefined when there is
 * none, or more.
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

/** The text at a pointer, of a number or a string; undefined for anything else. */
export function numberTextAt(value: JsonValue, pointer: string): string | undefined {
  const found = resolvePointer(value, pointer);
  if (found instanceof NumberText) return found.text;
  return typeof found === "string" ? found : undefined;
}
