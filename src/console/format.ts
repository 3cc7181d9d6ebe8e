import { isolated } from "../domain/text.ts";
import { DAY_MS, MINUTE_MS, UNIT_MS } from "../domain/time/units.ts";

/** Numbers and times in the reader's own language and zone. */

const usdCents = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD" });
const usdMicros = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", minimumFractionDigits: 6 });
const exact = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 });
const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const percents = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const month = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short" });
const minute = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const second = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** Dollars, to the cent. */
export const usd = (dollars: number): string => usdCents.format(dollars);
/** Dollars, with all six decimals where two are not exact. */
export const exactUsd = (dollars: number): string =>
  (Math.round(dollars * 1e6) % 1e4 === 0 ? usdCents : usdMicros).format(dollars);
/** Every digit of a price, which may be decimal text. */
export const price = (value: number | string): string => exact.format(value as number);
export const count = (value: number): string => plain.format(value);
/** Such as `1.2M`. */
export const short = (value: number): string => compact.format(value);
/** A share of 1. */
export const percent = (share: number): string => percents.format(share);
/** Date and time. */
export const instant = (ms: number): string => moment.format(ms);
/** Date and time with the zone, for paper. */
export const zonedInstant = (ms: number): string => zoned.format(ms);
/** A date without its time. */
export const dateOf = (ms: number): string => date.format(ms);
export const timeOfDay = (ms: number): string => second.format(ms);
/** A time on an axis whose ticks are so many milliseconds apart; midnight is told as its day. */
export function axisTime(ms: number, stepMs: number): string {
  if (stepMs > 20 * DAY_MS) return month.format(ms);
  const at = new Date(ms);
  const isMidnight = at.getHours() === 0 && at.getMinutes() === 0;
  return (stepMs >= DAY_MS || isMidnight ? day : stepMs < MINUTE_MS ? second : minute).format(ms);
}

/** A time span, rounded down, such as "90 s" or "26 h". */
export function span(ms: number): string {
  const [unit, unitMs] = Object.entries(UNIT_MS).findLast(([, each]) => ms >= 2 * each) ?? ["ms", 1];
  return `${Math.floor(ms / unitMs)} ${unit}`;
}

/** A wire outcome in words: "Yes", "No", "Void" or "Yes at 0.4". */
export function outcomeWords(outcome: string | { yes: number | string } | null): string {
  if (outcome === null) return "—";
  if (typeof outcome !== "string") return `Yes at ${outcome.yes}`;
  return outcome.charAt(0).toUpperCase() + outcome.slice(1);
}

/** A question or another text at the end of a sentence, with a full stop unless it has an end of its own. */
export const ended = (text: string): string =>
  /[.?!…。？！؟]$/u.test(text.trimEnd()) ? isolated(text) : `${isolated(text)}.`;
