/** Units of time, in milliseconds. */
export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
/** A UTC day: multiples of it since the epoch are midnights. */
export const DAY_MS = 24 * HOUR_MS;

/** The start of the UTC day of an instant. */
export function startOfDay(ts: number): number {
  return ts - (ts % DAY_MS);
}

export function startOfHour(ts: number): number {
  return ts - (ts % HOUR_MS);
}

/** By the unit's letter, as in `90s`, `10m`, `1h` or `2d`. */
export const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
};

/** `7d` or `90s`: a time span in its largest whole unit. */
export function formatSpan(spanMs: number): string {
  const [unit, unitMs] = Object.entries(UNIT_MS).findLast(([, each]) => spanMs % each === 0) ?? ["ms", 1];
  return `${spanMs / unitMs}${unit}`;
}
