import { chance, day } from "./format.ts";

export interface Point {
  /** Milliseconds since the epoch. */
  t: number;
  /** YES price, 0 to 1. */
  yes: number;
}

/** Keeps a price that hardly moved from looking like a cliff. */
const SMALLEST_SPAN_PERCENT = 20;

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

/** Describes the curve in one sentence. */
export function summaryOf(points: readonly Point[]): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return "No trades yet.";
  const change = Math.round((last.yes - first.yes) * 100);
  const size = Math.abs(change);
  const way = size === 0 ? "unchanged" : `${change > 0 ? "up" : "down"} ${size} ${size === 1 ? "point" : "points"}`;
  return `${chance(last.yes)} chance, ${way} since ${day(first.t)}.`;
}

/** The axis covers the curve with some room, never less than the smallest span, and stays within 0 and 100. */
export function percentRange(low: number, high: number): [number, number] {
  const room = Math.max((SMALLEST_SPAN_PERCENT - (high - low)) / 2, (high - low) * 0.1);
  const bottom = Math.max(0, low - room);
  const top = Math.min(100, Math.max(high + room, bottom + SMALLEST_SPAN_PERCENT));
  return [Math.max(0, Math.min(bottom, top - SMALLEST_SPAN_PERCENT)), top];
}

/**
 * Where a key leads to on a curve; undefined for any other key.
 * @param from the point under the cursor; the last one when there is none
 */
export function walked(key: string, from: number | undefined, last: number): number | undefined {
  const step = STEPS[key];
  return step === undefined ? undefined : Math.min(last, Math.max(0, (from ?? last) + step));
}
