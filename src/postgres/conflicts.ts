import { setTimeout as delay } from "node:timers/promises";
import { classify, StatementFailed } from "./connect.ts";

const ATTEMPTS = 5;
/** The longest pause before the first repetition; it doubles. */
const PAUSE_MS = 10;

export interface Pauses {
  /** From 0 up to 1, so that two that met do not meet again. */
  random: () => number;
  wait: (ms: number) => Promise<unknown>;
}

/**
 * Repeats a write that conflicted with another one at the same rows (a serialization failure or a deadlock, which leave
 * nothing of it in the database), four times at the most.
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
