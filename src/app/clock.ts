/** Milliseconds since the epoch: the one place of the command line that reads the machine's clock. */
export function wallClockMs(): number {
  return Date.now();
}

/** An instant as the API writes it. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
