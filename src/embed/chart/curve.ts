import { DAY_MS, HOUR_MS } from "../../domain/time/units.ts";
import type { Speaker } from "../../locales/speaker.ts";

export interface Point {
  /** Milliseconds since the epoch. */
  t: number;
  /** YES price, 0 to 1. */
  yes: number;
}

/** How many points a key goes along the curve. */
const STEPS: Record<string, number> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -10,
  PageDown: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** The last price holds until now, so the curve ends at the present. */
export function reachingNow(points: readonly Point[], now: number): readonly Point[] {
  const last = points.at(-1);
  return last && now > last.t ? [...points, { t: now, yes: last.yes }] : points;
}

/** Periods of a chart, by the part of the view that chooses each; milliseconds back from now. */
export const RANGES = {
  "range-1h": HOUR_MS,
  "range-1d": DAY_MS,
  "range-1w": 7 * DAY_MS,
  "range-all": Number.POSITIVE_INFINITY,
} as const;
export type Range = keyof typeof RANGES;

/** The last part of a curve, beginning with the price that held then. */
export function within(points: readonly Point[], now: number, range: Range): readonly Point[] {
  const from = now - RANGES[range];
  const first = points.findIndex(({ t }) => t > from);
  if (first === 0) return points;
  const held = first === -1 ? points.at(-1) : points[first - 1];
  const rest = first === -1 ? [] : points.slice(first);
  return held ? [{ t: from, yes: held.yes }, ...rest] : rest;
}

/**
 * A curve in a sentence: its latest chance, its change, and the range of its swings where that is wider than the change.
 * @param isSettled the market has its result, so that its last chance is past
 */
export function summaryOf({ say, chance, moment, day }: Speaker, points: readonly Point[], isSettled = false): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return say("market.noTrades");
  const prices = points.map(({ yes }) => yes);
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  const change = percentOf(last.yes) - percentOf(first.yes);
  const swing = percentOf(high) - percentOf(low);
  const count = Math.abs(change);
  const way = change > 0 ? "market.up" : change < 0 ? "market.down" : "market.steady";
  const time = last.t - first.t < 7 * DAY_MS ? moment(first.t) : day(first.t);
  const moved = say(isSettled ? "market.changeBefore" : "market.change", {
    chance: chance(last.yes),
    change: say(way, { count }),
    time,
  });
  if (swing === count) return `${moved}.`;
  return `${moved}; ${say("market.between", { low: chance(low), high: chance(high) })}.`;
}

/** Rounded like the shown chance, so that a change is the difference of two shown chances. */
const percentOf = (price: number): number => Math.round(price * 100);

/**
 * Where a key leads to on a curve; undefined for any other key.
 * @param from the point under the cursor; the last one when there is none
 */
export function walked(key: string, from: number | undefined, last: number): number | undefined {
  const step = STEPS[key];
  return step === undefined ? undefined : Math.min(last, Math.max(0, (from ?? last) + step));
}
