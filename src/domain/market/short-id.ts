/** The prefixes of generated ids. */
const PREFIXES = { market: "mkt_", withdrawal: "wdr_", trade: "trd_", proposal: "prp_" };
/** The objects that operators can name by the beginning of an id. An order is a trade. */
export const ID_KINDS = ["market", "withdrawal", "trade", "proposal", "delivery", "request"] as const;
export type IdKind = (typeof ID_KINDS)[number];
/** Kinds whose ids begin with the time in hexadecimal digits. */
export type TimedKind = keyof typeof PREFIXES;

/** The hexadecimal digits of a whole id. */
const ALL_DIGITS = 32;
/** Fewer digits would be a guess. */
const LEAST_DIGITS = 6;
/** Ids begin with the time: with this many digits, ids created minutes apart differ. */
const SHOWN_DIGITS = 8;

/**
 * The beginning of an id in a text, with the prefix of its kind.
 * @returns undefined for impossible or too short text
 */
export function beginningOf(kind: TimedKind, text: string): string | undefined {
  const prefix = PREFIXES[kind];
  const digits = text.startsWith(prefix) ? text.slice(prefix.length) : text;
  return digits.length >= LEAST_DIGITS && digits.length <= ALL_DIGITS && /^[0-9a-f]+$/.test(digits)
    ? prefix + digits
    : undefined;
}

/** The beginning of a request's id in a text, with `req_`; undefined for too short text. */
export function requestBeginning(text: string): string | undefined {
  const digits = text.startsWith("req_") ? text.slice("req_".length) : text;
  return digits.length >= LEAST_DIGITS && /^[\w-]+$/.test(digits) ? `req_${digits}` : undefined;
}

/**
 * The beginning of an outgoing event's id in a text: the optional prefix `evt_`, the number of the audit entry, and
 * part of the entry's hash, as in `evt_1042_9f`.
 * @returns undefined for impossible or too short text
 */
export function eventBeginning(text: string): { seq: number; prefix: string | undefined; rest: string } | undefined {
  const [, prefix, rest = "", seq] = /^([a-z]{3}_)?((\d{1,15})_[0-9a-f]*)$/.exec(text) ?? [];
  return rest.length >= LEAST_DIGITS ? { seq: Number(seq), prefix, rest } : undefined;
}

/** Whether a text is a complete id that needs no lookup. */
export function isWholeId(kind: TimedKind, text: string): boolean {
  return text.length === PREFIXES[kind].length + ALL_DIGITS && beginningOf(kind, text) === text;
}

/**
 * The shortest unique beginning of an id, without its prefix.
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
