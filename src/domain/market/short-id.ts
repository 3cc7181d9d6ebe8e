/** What operators name by the beginning of an id, and what stands before its digits. */
const PREFIXES = { market: "mkt_", withdrawal: "wdr_", trade: "trd_" };
export const ID_KINDS = ["market", "withdrawal", "trade"] as const;
export type IdKind = (typeof ID_KINDS)[number];

/** Hexadecimal digits of a whole id. */
const ALL_DIGITS = 32;
/** Fewer would be a guess. */
const LEAST_DIGITS = 6;
/** Ids begin with the time: so many digits differ where minutes lie between them. */
const SHOWN_DIGITS = 8;

/**
 * The beginning of an id that a text gives, with the prefix of its kind.
 * @returns undefined for a text that cannot be one, or is too short
 */
export function beginningOf(kind: IdKind, text: string): string | undefined {
  const prefix = PREFIXES[kind];
  const digits = text.startsWith(prefix) ? text.slice(prefix.length) : text;
  return digits.length >= LEAST_DIGITS && digits.length <= ALL_DIGITS && /^[0-9a-f]+$/.test(digits)
    ? prefix + digits
    : undefined;
}

/** Whether a text is an id in full, so that nothing has to be looked up. */
export function isWholeId(kind: IdKind, text: string): boolean {
  return text.length === PREFIXES[kind].length + ALL_DIGITS && beginningOf(kind, text) === text;
}

/**
 * The beginning of an id, without its prefix, that no other id has.
 * @param others other ids, at least the one that shares the longest beginning with it
 */
export function shortId(kind: IdKind, id: string, others: readonly string[]): string {
  const prefix = PREFIXES[kind];
  if (!isWholeId(kind, id)) return id;
  const needed = others.map((other) => (other === id ? 0 : sharedLength(id, other) + 1));
  return id.slice(prefix.length, Math.max(prefix.length + SHOWN_DIGITS, ...needed));
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
