/**
 * Milliseconds since the epoch by this machine's clock: for the expiry of keys and tokens and the age of webhooks,
 * where a skew of seconds does no harm. Decisions about money use the database's clock.
 */
export function wallClockMs(): number {
  return Date.now();
}

/** Milliseconds that never step back, for intervals. */
export function monotonicMs(): number {
  return performance.now();
}

/** An instant as the API writes it. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
