import { DAY_MS, HOUR_MS } from "../domain/time/units.ts";

/** Numbers and times as the readers of a language write them. Amounts are US dollars, prices 0 to 1, times milliseconds since the epoch or ISO 8601. */
export interface Formats {
  number(value: number): string;
  dollars(usd: number): string;
  /** Without cents, for amounts that have none. */
  wholeDollars(usd: number): string;
  /** From a thousand on without cents, and short where the language has a short form, such as $1.2K. */
  volume(usd: number): string;
  /** With a sign, unless it is shown as zero. */
  signed(usd: number): string;
  /** Hundredths, rounded down: no reader sees more shares than they hold. */
  shares(count: number): string;
  /** A price as the chance that it states; never 0 or 100, which only a settled market is. */
  chance(price: number): string;
  /** A price as a whole percentage. */
  percent(price: number): string;
  /** What a share is paid, with all its digits. */
  payout(part: number): string;
  /** A price of a share in cents, to a tenth. */
  cents(price: number): string;
  clock(time: number | string): string;
  day(time: number | string): string;
  moment(time: number | string): string;
  /** Day, year, time and zone: when a market closes. */
  exact(time: number | string): string;
  /** A time on an axis whose ticks are this many milliseconds apart. */
  axisTime(ms: number, stepMs: number): string;
  /** "3 days", "1 hour": the largest unit alone. */
  duration(ms: number): string;
}

export interface FormatOptions {
  /** IANA name; the reader's own unless given. */
  timeZone?: string | undefined;
}

/** Amounts and prices are typed in Latin digits everywhere, so they are shown in them too. */
export const withLatinDigits = (locale: string): Intl.Locale => new Intl.Locale(locale, { numberingSystem: "latn" });

/** @param locale a BCP 47 tag */
export function formatsFor(locale: string, { timeZone }: FormatOptions = {}): Formats {
  const tag = withLatinDigits(locale);
  const number = (options: Intl.NumberFormatOptions) => {
    const format = new Intl.NumberFormat(tag, options);
    // The dollar is one sign in every language: Arabic would have letters.
    return (value: number): string => inOneDirection(format.format(value).replace("US$", "$"));
  };
  const time = (options: Intl.DateTimeFormatOptions) => {
    const format = new Intl.DateTimeFormat(tag, { timeZone, ...options });
    return (at: number | string): string => format.format(new Date(at));
  };
  const usd = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" } as const;
  const dollars = number(usd);
  const compact = number({ ...usd, notation: "compact", maximumFractionDigits: 1 });
  const wholeDollars = number({ ...usd, maximumFractionDigits: 0 });
  const short = new Intl.NumberFormat(tag, { notation: "compact" });
  // German has no short form of a thousand.
  const isShort = (value: number): boolean => short.formatToParts(value).some(({ type }) => type === "compact");
  const withSign = number({ ...usd, signDisplay: "always" });
  const percent = number({ style: "percent", maximumFractionDigits: 0 });
  const hundredths = number({ maximumFractionDigits: 2 });
  const tenths = number({ minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const clock = time({ hour: "numeric", minute: "2-digit" });
  const day = time({ year: "numeric", month: "short", day: "numeric" });
  const shortDay = time({ month: "short", day: "numeric" });
  const month = time({ year: "numeric", month: "short" });
  const inUnit = (unit: string, count: number) => number({ style: "unit", unit, unitDisplay: "long" })(count);
  return {
    number: number({}),
    dollars,
    wholeDollars,
    volume: (value) => (value < 1000 ? dollars(value) : (isShort(value) ? compact : wholeDollars)(value)),
    signed: (value) => (isNothing(value) ? dollars(0) : withSign(value)),
    // Over whole millionths, as 0.29 lies a little below itself.
    shares: (count) => hundredths(Math.floor(Math.round(count * 1e6) / 10_000) / 100),
    percent,
    payout: number({ style: "percent", maximumFractionDigits: 4 }),
    chance: (price) =>
      price < 0.01
        ? inOneDirection(`<${percent(0.01)}`)
        : price > 0.99
          ? inOneDirection(`>${percent(0.99)}`)
          : percent(price),
    cents: (price) => `${tenths(price * 100)}¢`,
    clock,
    day,
    moment: time({ month: "short", day: "numeric", hour: "numeric", minute: "2-digit" }),
    exact: time({
      year: "numeric",
      month: "short",
      day: "numeric",
      hour: "numeric",
      minute: "2-digit",
      timeZoneName: "short",
    }),
    axisTime: (ms, stepMs) => (stepMs < DAY_MS ? clock : stepMs < 28 * DAY_MS ? shortDay : month)(ms),
    duration(ms) {
      const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? (["second", 1000] as const);
      return inUnit(unit, Math.max(1, Math.floor(ms / size)));
    },
  };
}

/**
 * Languages that are written from right to left set marks of direction into amounts, among which a sign would be torn off
 * its number. Latin digits are read from the left, and so is all that belongs to them.
 */
export function inOneDirection(text: string): string {
  return MARKS.test(text) ? `\u200e${text.replaceAll(new RegExp(MARKS, "g"), "")}\u200e` : text;
}

/** Arabic letter, left to right, right to left. */
const MARKS = /\u061c|\u200e|\u200f/;

export const UNITS: readonly [unit: string, ms: number][] = [
  ["day", DAY_MS],
  ["hour", HOUR_MS],
  ["minute", 60_000],
  ["second", 1000],
];

/** Whether an amount is shown as zero. */
const isNothing = (usd: number): boolean => Math.abs(usd) < 0.005;

/** The CSS class of a profit; none for an amount that is shown as zero. */
export const toneOf = (usd: number): "" | "gain" | "loss" => (isNothing(usd) ? "" : usd < 0 ? "loss" : "gain");
