/** The reader's own clock, milliseconds since the epoch. Good for waiting; what is due is told by the server's. */
export function wallClockMs(): number {
  return Date.now();
}
