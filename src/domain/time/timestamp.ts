import { DAY_MS } from "./units.ts";

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * Milliseconds since the epoch of an RFC 3339 timestamp, or undefined. A zone is required, and the day must exist:
 * `Date.parse` alone would read February 30 as March 2.
 */
export function parseTimestamp(value: string): number | undefined {
  const parts = RFC3339.exec(value);
  if (!parts) return undefined;
  const [, year, month, day] = parts.map(Number) as [number, number, number, number];
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const instant = Date.parse(value.toUpperCase());
  return day >= 1 && day <= lastDay && Number.isFinite(instant) ? instant : undefined;
}

const REMEMBERED_DAYS = 64;
const LAST_INSTANT = 8.64e15;
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));
const dayNumbers: number[] = Array(REMEMBERED_DAYS).fill(Number.NaN);
const dayTexts: string[] = Array(REMEMBERED_DAYS).fill("");

/**
 * The instant in the format of `Date.prototype.toISOString`, which took half of the time of encoding an answer. A
 * history has hundreds of instants on few days, so the day's text is cached and only the time is formatted.
 *
 * @param instant milliseconds since the epoch
 * @throws RangeError for an instant outside the calendar
 */
export function formatTimestamp(instant: number): string {
  if (!Number.isInteger(instant) || Math.abs(instant) >= LAST_INSTANT) return new Date(instant).toISOString();
  const day = Math.floor(instant / DAY_MS);
  const place = day & (REMEMBERED_DAYS - 1);
  if (dayNumbers[place] !== day) {
    dayTexts[place] = new Date(instant).toISOString().slice(0, -"hh:mm:ss.mmmZ".length);
    dayNumbers[place] = day;
  }
  const inDay = instant - day * DAY_MS;
  const seconds = Math.floor(inDay / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const millis = 1000 + inDay - seconds * 1000;
  const time = `${TWO_DIGITS[hours]}:${TWO_DIGITS[minutes - hours * 60]}:${TWO_DIGITS[seconds - minutes * 60]}`;
  return `${dayTexts[place]}${time}.${String(millis).slice(1)}Z`;
}

/** An instant outside the calendar stays a number. */
export function instantText(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString();
}
