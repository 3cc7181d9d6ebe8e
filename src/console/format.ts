/** Numbers and times in the reader's own language and zone. */

const usdCents = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD" });
const usdExact = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", maximumFractionDigits: 6 });
const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const percents = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const second = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** Dollars, to the cent. */
export const usd = (dollars: number): string => usdCents.format(dollars);
/** Dollars, to the micro-dollar where the cent is not exact. */
export const exactUsd = (dollars: number): string => usdExact.format(dollars);
export const count = (value: number): string => plain.format(value);
/** Such as `1.2M`. */
export const short = (value: number): string => compact.format(value);
/** A share of 1. */
export const percent = (share: number): string => percents.format(share);
/** Date and time. */
export const instant = (ms: number): string => moment.format(ms);
export const timeOfDay = (ms: number): string => second.format(ms);

/** A wire outcome in words: "Yes", "No", "Void" or "Yes at 0.4". */
export function outcomeWords(outcome: string | { yes: number | string } | null): string {
  if (outcome === null) return "—";
  if (typeof outcome !== "string") return `Yes at ${outcome.yes}`;
  return outcome.charAt(0).toUpperCase() + outcome.slice(1);
}
