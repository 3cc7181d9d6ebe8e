/**
 * Trading sessions in the notation `TZ;Mon,Tue,Wed,Thu,Fri,Sat,Sun;MMDD/Day,...`: a day is `O` (open all day), `C`
 * (closed) or spans of local time such as `0930-1130&1230-1600`. Special days follow the second semicolon.
 */
interface TradingHours {
  timeZone: string;
  /** Monday first. */
  week: readonly (readonly Span[])[];
  /** By `MMDD`. */
  days: ReadonlyMap<string, readonly Span[]>;
}

/** Seconds of the local day, both ends included: a close at the session's last second belongs to it. */
type Span = readonly [fromSec: number, toSec: number];

const DAY_SEC = 86_400;
const SPAN = /^([01]\d|2[0-3])([0-5]\d)-([01]\d|2[0-4])([0-5]\d)$/;
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** Undefined for text in another notation. */
export function parseTradingHours(text: string): TradingHours | undefined {
  const [timeZone = "", days = "", special = "", ...rest] = text.split(";");
  const week = days.split(",").map(parseDay);
  const exceptions = special.split(",").filter((part) => part !== "");
  const parsed = exceptions.map((part) => [part.slice(0, 4), parseDay(part.slice(5))] as const);
  const isSound =
    rest.length === 0 &&
    week.length === 7 &&
    isTimeZone(timeZone) &&
    exceptions.every((part) => /^\d{4}\//.test(part)) &&
    [...week, ...parsed.map(([, day]) => day)].every((day) => day !== undefined);
  if (!isSound) return undefined;
  return { timeZone, week: week as Span[][], days: new Map(parsed as [string, Span[]][]) };
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

function parseDay(text: string): Span[] | undefined {
  if (text === "O") return [[0, DAY_SEC]];
  if (text === "C") return [];
  const spans = text.split("&").map((part): Span | undefined => {
    const [, fromHour, fromMinute, toHour, toMinute] = SPAN.exec(part) ?? [];
    if (fromHour === undefined) return undefined;
    return [secondsOf(fromHour, fromMinute), secondsOf(toHour, toMinute)];
  });
  return spans.every((span) => span !== undefined) ? (spans as Span[]) : undefined;
}

function secondsOf(hour = "", minute = ""): number {
  return Number(hour) * 3600 + Number(minute) * 60;
}

/**
 * Whether the instrument trades at an instant. Local time follows the zone's own rules, including clock changes.
 * Midnight also belongs to the previous day if that ends at 2400.
 */
export function isTrading(hours: TradingHours, instant: number): boolean {
  const { day, monthDay, second } = localTime(hours.timeZone, instant);
  const spans = hours.days.get(monthDay) ?? hours.week[day] ?? [];
  if (spans.some(([from, to]) => second >= from && second <= to)) return true;
  if (second !== 0) return false;
  const before = localTime(hours.timeZone, instant - 1000);
  return (hours.days.get(before.monthDay) ?? hours.week[before.day] ?? []).some(([, to]) => to === DAY_SEC);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function localTime(timeZone: string, instant: number): { day: number; monthDay: string; second: number } {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      weekday: "short",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
  formats.set(timeZone, format);
  const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, value]));
  return {
    day: WEEKDAYS.indexOf(parts.weekday ?? ""),
    monthDay: `${parts.month}${parts.day}`,
    second: secondsOf(parts.hour, parts.minute) + Number(parts.second),
  };
}
