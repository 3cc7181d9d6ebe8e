import { NumberText } from "../../domain/json/exact-json.ts";
import { type OutcomeShape, outcomeFlag } from "../../domain/market/outcome.ts";
import { MAX_AMOUNT_USD } from "../../domain/money.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../domain/time/units.ts";

/** Numbers and times for people, in a table. */

/** Beyond 2^33 a double's digits differ from those of the decimal it was read from; its shortest text does not. */
const fixed = (amount: number, decimals: number): string =>
  (Math.abs(amount) > MAX_AMOUNT_USD ? new NumberText(String(amount)) : amount).toFixed(decimals);

/** US dollars with two decimals, or with more where the amount has more. */
export function usd(amount: number): string {
  return fixed(amount, 6).replace(/0{1,4}$/, "");
}

/** US dollars to the cent, for columns that people skim; {@link usd} prints exact amounts. */
export function cents(amount: number): string {
  const text = amount.toFixed(2);
  return text === "-0.00" ? "0.00" : text;
}

/** A price or probability with three decimals. */
export function price(value: number): string {
  return value.toFixed(3);
}

/** A market's outcome as flags state it, such as `yes`, `void` or `yes=0.4`. */
export const outcomeText = outcomeFlag;

/** A market's outcome in words, such as `void: positions got back what they cost`. */
export function outcomeWords(outcome: OutcomeShape<number>): string {
  if (outcome === "void") return "void: positions got back what they cost";
  if (typeof outcome === "string") return outcome;
  const no = Math.round((1 - outcome.yes) * 1e6) / 1e6;
  return `${outcomeText(outcome)}: a YES share was paid ${usd(outcome.yes)}, a NO share ${usd(no)}`;
}

/** A market's result in a list, such as `YES won` or `VOID`. */
export function resultWord(outcome: OutcomeShape<number>): string {
  const word = outcomeText(outcome).toUpperCase();
  return outcome === "yes" || outcome === "no" ? `${word} won` : word;
}

/** Shares to six decimals, without trailing zeros. */
export function shares(amount: number): string {
  return fixed(amount, 6).replace(/\.?0+$/, "");
}

/** `2030-01-31T18:00:00.000Z` as `2030-01-31 18:00Z`; with seconds on request, or unless the time is a full minute. */
export function time(timestamp: string, options: { seconds?: boolean } = {}): string {
  const [date = timestamp, clock = ""] = timestamp.split("T");
  const showsSeconds = options.seconds || !/^:00(\.0+)?Z$/.test(clock.slice(5));
  return clock === "" ? date : `${date} ${clock.slice(0, showsSeconds ? 8 : 5)}Z`;
}

const STEPS = [
  [DAY_MS, "day"],
  [HOUR_MS, "h"],
  [MINUTE_MS, "min"],
  [SECOND_MS, "s"],
] as const;

/** The distance of a timestamp from now, in the largest unit that fits twice, such as `in 6 min` or `3 days ago`. */
export function relative(timestamp: string, now: number): string {
  const distance = Date.parse(timestamp) - now;
  const [unitMs, name] = STEPS.find(([each]) => Math.abs(distance) >= 2 * each) ?? [SECOND_MS, "s"];
  const count = Math.floor(Math.abs(distance) / unitMs);
  const amount = `${count} ${name === "day" ? "days" : name}`;
  return distance < 0 ? `${amount} ago` : `in ${amount}`;
}

/** A time and its distance from now, where there is room for both. */
export function instant(timestamp: string): string {
  return `${time(timestamp)}, ${relative(timestamp, wallClockMs())}`;
}

/** The day of a timestamp, where there is no room for more. */
export function day(timestamp: string): string {
  return timestamp.slice(0, 10);
}

/** Any value as one text, for `--fields` and csv. */
export function plain(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The value, or a dash for a missing or empty one. */
export function orDash(value: string | null | undefined): string {
  return value === null || value === undefined || value === "" ? "-" : value;
}
