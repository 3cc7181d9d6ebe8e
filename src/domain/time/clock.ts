/**
 * Milliseconds since the epoch by this machine's clock. It is used for the expiry of keys and tokens and the age of
 * webhooks, where a skew of seconds is harmless. Decisions about money use the database's clock.
 */
export function wallClockMs(): number {
  return Date.now();
}

/** Milliseconds that never move back, for intervals. */
export function monotonicMs(): number {
  return performance.now();
}

/** An instant in the API's format. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
