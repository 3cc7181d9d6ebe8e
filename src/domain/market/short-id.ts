/** What stands before the digits of ids that are made alike. */
const PREFIXES = { market: "mkt_", withdrawal: "wdr_", trade: "trd_" };
/** What operators name by the beginning of an id. An order is a trade. */
export const ID_KINDS = ["market", "withdrawal", "trade", "delivery", "request"] as const;
export type IdKind = (typeof ID_KINDS)[number];
/** Kinds whose ids begin with the time, as hexadecimal digits. */
export type TimedKind = keyof typeof PREFIXES;

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
export function beginningOf(kind: TimedKind, text: string): string | undefined {
  const prefix = PREFIXES[kind];
  const digits = text.startsWith(prefix) ? text.slice(prefix.length) : text;
  return digits.length >= LEAST_DIGITS && digits.length <= ALL_DIGITS && /^[0-9a-f]+$/.test(digits)
    ? prefix + digits
    : undefined;
}

/** The beginning of a request's id that a text gives, with `req_`; undefined for a text that is too short to be one. */
export function requestBeginning(text: string): string | undefined {
  const digits = text.startsWith("req_") ? text.slice("req_".length) : text;
  return digits.length >= LEAST_DIGITS && /^[\w-]+$/.test(digits) ? `req_${digits}` : undefined;
}

/**
 * The beginning of an outgoing event's id that a text gives: `evt_`, which may be left out, the number of the audit entry
 * behind it, and some of the entry's hash, as in `evt_1042_9f`.
 * @returns undefined for a text that cannot be one, or is too short
 */
export function eventBeginning(text: string): { seq: number; prefix: string | undefined; rest: string } | undefined {
  const [, prefix, rest = "", seq] = /^([a-z]{3}_)?((\d{1,15})_[0-9a-f]*)$/.exec(text) ?? [];
  return rest.length >= LEAST_DIGITS ? { seq: Number(seq), prefix, rest } : undefined;
}

/** Whether a text is an id in full, so that nothing has to be looked up. */
export function isWholeId(kind: TimedKind, text: string): boolean {
  return text.length === PREFIXES[kind].length + ALL_DIGITS && beginningOf(kind, text) === text;
}

/**
 * The beginning of an id, without its prefix, that no other id has.
 * @param others other ids, at least the one that shares the longest beginning with it
 */
export function shortId(kind: TimedKind, id: string, others: readonly string[]): string {
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
