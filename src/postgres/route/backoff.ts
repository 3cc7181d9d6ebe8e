const FIRST_MS = 50;
/** With the time that finding the primary and a commit take, a change is still acknowledged within 5 s of a promotion. */
const LONGEST_MS = 4000;

/**
 * How long to wait before the next attempt: it doubles with each failure, and half of it is random, so that servers which
 * lost one database at one moment do not come back to it at one moment.
 * @param failures in a row, at least 1
 * @param random from 0 up to 1
 * @returns milliseconds from 50 to 4000
 */
export function backoffMs(failures: number, random: number): number {
  const longest = Math.min(FIRST_MS * 2 ** failures, LONGEST_MS);
  return Math.max(FIRST_MS, longest * (0.5 + random / 2));
}
