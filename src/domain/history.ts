import { HOUR_MS } from "./time/units.ts";

/** YES price in millionths after the last trade of the hour that began at `hour` (milliseconds since the epoch). */
export interface HourPrice {
  hour: number;
  yesPpm: number;
}

export interface PricePoint {
  /** Milliseconds since the epoch. */
  t: number;
  yesPpm: number;
}

export interface PriceLife {
  createdAt: number;
  p0Ppm: number;
  /** The present, or the time of the settlement. */
  endAt: number;
  /** The price at `endAt`. */
  latestPpm: number;
}

/** The hours of a leap year: markets may run for many years, but answers are bounded. */
export const MAX_HISTORY_HOURS = 366 * 24;

/** The first full hour of a history of at most `maxHours` up to `endAt`. */
export function historyFrom(createdAt: number, endAt: number, maxHours = MAX_HISTORY_HOURS): number {
  const first = (Math.floor(createdAt / HOUR_MS) + 1) * HOUR_MS;
  const last = (Math.ceil(endAt / HOUR_MS) - 1) * HOUR_MS;
  return Math.max(first, last - (maxHours - 1) * HOUR_MS);
}

/**
 * Until when time alone changes neither the set of past full hours nor the set of hours within the last day. At exactly
 * a full hour this is one millisecond: some changes happen at that hour, others after it.
 */
export function hoursHoldUntil(now: number): number {
  return now % HOUR_MS === 0 ? now + 1 : Math.ceil(now / HOUR_MS) * HOUR_MS;
}

/**
 * The opening price, then the price at every full hour, and the latest price last. An hour without trades repeats the
 * previous price.
 * @param hours ascending: the traded hours since `historyFrom`, and the last one before it
 */
export function hourlyHistory(
  { createdAt, p0Ppm, endAt, latestPpm }: PriceLife,
  hours: HourPrice[],
  maxHours = MAX_HISTORY_HOURS,
): PricePoint[] {
  const points: PricePoint[] = [{ t: createdAt, yesPpm: p0Ppm }];
  let yesPpm = p0Ppm;
  let next = 0;
  for (let t = historyFrom(createdAt, endAt, maxHours); t < endAt; t += HOUR_MS) {
    // An hour counts once it is over: its price is the price at its end.
    for (let hour = hours[next]; hour && hour.hour + HOUR_MS <= t; hour = hours[++next]) yesPpm = hour.yesPpm;
    points.push({ t, yesPpm });
  }
  if (endAt > createdAt) points.push({ t: endAt, yesPpm: latestPpm });
  return points;
}
