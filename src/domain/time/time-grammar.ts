import { parseTimestamp } from "./timestamp.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, UNIT_MS } from "./units.ts";

/** Whether durations and weekdays are in the past or in the future. */
export type Direction = "ago" | "ahead";

/** The problem of a time that a person wrote, as one sentence. */
export class TimeSyntaxError extends Error {}

const DURATION = /^([1-9]\d{0,5})([smhd])$/;
const DAY_AND_CLOCK = /^([a-z]+) ([01]?\d|2[0-3]):([0-5]\d)(?: (\S+))?$/i;
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const LOOKS_LIKE_DATE = /^\d{4}-\d\d-\d\d/;

/**
 * A time in the notations for operators, in milliseconds since the epoch: a duration from now (`30s`, `15m`, `2h`,
 * `7d`), an ISO 8601 instant with its zone, or `today`, `tomorrow` or a weekday with a clock time and an IANA zone,
 * such as `tomorrow 18:00 Europe/Berlin`. A weekday means the nearest one in the direction, including today.
 *
 * If a zone has an hour twice (clocks go back), the first one counts.
 *
 * @param now milliseconds since the epoch
 * @param direction whether durations and weekdays are before or after `now`
 * @throws TimeSyntaxError for anything else, especially for a time without a zone, which would mean a different instant
 * on each machine
 */
export function parseTime(text: string, now: number, direction: Direction): number {
  const written = text.trim();
  const span = parseDuration(written);
  if (span !== undefined) return direction === "ago" ? now - span : now + span;
  const named = DAY_AND_CLOCK.exec(written);
  const isDayName = named && (["today", "tomorrow"].includes(lower(named[1])) || weekdayOf(lower(named[1])) >= 0);
  if (named && isDayName) return namedDay(named, now, direction);
  const instant = parseTimestamp(written);
  if (instant !== undefined) return instant;
  if (LOOKS_LIKE_DATE.test(written) && !/[zZ]$|[+-]\d\d:\d\d$/.test(written.slice(10)))
    throw new TimeSyntaxError(`The time has no zone: write it as ${written.slice(0, 10)}T18:00:00Z.`);
  throw new TimeSyntaxError(
    "The time must be a duration such as 2h, an instant such as 2030-01-31T18:00:00Z, or a day such as tomorrow 18:00 Europe/Berlin.",
  );
}

/** `30s`, `15m`, `2h` or `7d` in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ""] = DURATION.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  return amount === undefined || unitMs === undefined ? undefined : Number(amount) * unitMs;
}

function namedDay([, day, hour, minute, zone]: RegExpExecArray, now: number, direction: Direction): number {
  if (zone === undefined)
    throw new TimeSyntaxError(`The time has no zone: write it as ${day} ${hour}:${minute} Europe/Berlin.`);
  const wallClock = wallClockIn(zone);
  const midnight = startOfWallDay(wallClock(now));
  const inDay = Number(hour) * HOUR_MS + Number(minute) * MINUTE_MS;
  const at = (daysAhead: number) => instantOf(midnight + daysAhead * DAY_MS + inDay, wallClock, zone);
  const name = lower(day);
  if (name === "today") return at(0);
  if (name === "tomorrow") return at(1);
  const distance = weekdayOf(name) - new Date(midnight).getUTCDay();
  if (direction === "ahead") {
    const ahead = (distance + 7) % 7;
    const next = at(ahead);
    return next > now ? next : at(ahead + 7);
  }
  const back = (distance - 7) % 7;
  const last = at(back);
  return last <= now ? last : at(back - 7);
}

/** A zone's clock at an instant, as if it showed UTC, so that wall clock times can be added and compared. */
type WallClock = (instant: number) => number;

function wallClockIn(zone: string): WallClock {
  const format = formatIn(zone);
  return (instant) => {
    const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

function formatIn(zone: string): Intl.DateTimeFormat {
  const fields = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" } as const;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", ...fields, second: "numeric" });
  } catch {
    throw new TimeSyntaxError(`There is no time zone ${zone}: write it as Europe/Berlin or UTC.`);
  }
}

/** The first instant at which a zone's clocks show this wall clock time. Tries the offsets of the neighbouring days. */
function instantOf(wall: number, wallClock: WallClock, zone: string): number {
  const offsets = [wall - DAY_MS, wall + DAY_MS].map((near) => wallClock(near) - near);
  const instants = offsets.map((offset) => wall - offset).filter((instant) => wallClock(instant) === wall);
  if (instants.length === 0)
    throw new TimeSyntaxError(`Clocks in ${zone} skip ${new Date(wall).toISOString().slice(11, 16)} on that day.`);
  return Math.min(...instants);
}

function startOfWallDay(wall: number): number {
  return Math.floor(wall / DAY_MS) * DAY_MS;
}

/** A weekday by its full name or its first three letters; -1 for none. */
function weekdayOf(name: string): number {
  return WEEKDAYS.findIndex((weekday) => weekday === name || weekday.slice(0, 3) === name);
}

function lower(text: string | undefined): string {
  return (text ?? "").toLowerCase();
}
