import { DAY_MS, HOUR_MS } from "../domain/time/units.ts";

/** Numbers and times as people read them. Everything shown goes through here, so that it looks the same everywhere. */

const DOLLARS = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const COMPACT = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  notation: "compact",
  maximumFractionDigits: 1,
});
const SHARES = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
const DAY = new Intl.DateTimeFormat("en-US", { year: "numeric", month: "short", day: "numeric" });
const MOMENT = new Intl.DateTimeFormat("en-US", { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });

const CLOCK = new Intl.DateTimeFormat("en-US", { hour: "numeric", minute: "2-digit" });
const SHORT_DAY = new Intl.DateTimeFormat("en-US", { month: "short", day: "numeric" });
const MONTH = new Intl.DateTimeFormat("en-US", { year: "numeric", month: "short" });

export const nameOf = (side: "yes" | "no"): string => (side === "yes" ? "Yes" : "No");
export const dollars = (usd: number): string => DOLLARS.format(usd);
export const dollarsOfMicro = (micro: bigint): string => DOLLARS.format(Number(micro) / 1e6);
export const volume = (usd: number): string => (usd < 1000 ? DOLLARS.format(usd) : COMPACT.format(usd));
export const shares = (count: number): string => SHARES.format(count);
/** A price is shown as the chance that it states. */
export const chance = (price: number): string => {
  const percent = price * 100;
  return percent < 1 ? "<1%" : percent > 99 ? ">99%" : `${Math.round(percent)}%`;
};
export const cents = (price: number): string => `${(price * 100).toFixed(1)}¢`;
export const signed = (usd: number): string => {
  const text = DOLLARS.format(Math.abs(usd));
  return isNothing(usd) ? text : `${usd < 0 ? "−" : "+"}${text}`;
};
/** The CSS class of a profit; none for an amount that is shown as $0.00. */
export const toneOf = (usd: number): "" | "gain" | "loss" => (isNothing(usd) ? "" : usd < 0 ? "loss" : "gain");
const isNothing = (usd: number): boolean => Math.abs(usd) < 0.005;
export const clock = (ms: number): string => CLOCK.format(new Date(ms));
export const day = (iso: string | number): string => DAY.format(new Date(iso));
export const moment = (iso: string | number): string => MOMENT.format(new Date(iso));

/** When a market closes: the day, and on its last day the time. */
export const until = (closeAt: string, now: number): string =>
  Date.parse(closeAt) - now < DAY_MS ? moment(closeAt) : day(closeAt);

/** A time on an axis whose ticks are this many milliseconds apart. */
export function axisTime(ms: number, stepMs: number): string {
  const format = stepMs < DAY_MS ? CLOCK : stepMs < 28 * DAY_MS ? SHORT_DAY : MONTH;
  return format.format(new Date(ms));
}

const UNITS: [name: string, ms: number][] = [
  ["day", DAY_MS],
  ["hour", HOUR_MS],
  ["minute", 60_000],
  ["second", 1000],
];

/** "3 days", "1 hour": the largest unit alone; seconds when less than a minute is left. */
export function timeLeft(ms: number): string {
  if (ms <= 0) return "closed";
  const [name, unit] = UNITS.find(([, size]) => ms >= size) ?? ["second", 1000];
  const count = Math.max(1, Math.floor(ms / unit));
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
