import { setTimeout as delay } from "node:timers/promises";
import { classify, StatementFailed } from "./connect.ts";

const ATTEMPTS = 5;
/** The longest pause before the first repetition; pauses double. */
const PAUSE_MS = 10;

export interface Pauses {
  /** A number from 0 up to 1, so that two conflicting writes do not meet again. */
  random: () => number;
  wait: (ms: number) => Promise<unknown>;
}

/**
 * Repeats a write that conflicted with another at the same rows (a serialization failure or a deadlock, which leave
 * nothing in the database), at most four times.
 * @param write one statement that commits by itself, so that it fails as a whole
 */
export async function afterConflicts<T>(
  write: () => PromiseLike<T>,
  { random, wait }: Pauses = { random: Math.random, wait: delay },
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      const failure = classify(error);
      const mayRepeat = failure instanceof StatementFailed && failure.isConflict && attempt < ATTEMPTS;
      if (!mayRepeat) throw error;
      await wait(random() * PAUSE_MS * 2 ** attempt);
    }
  }
}
