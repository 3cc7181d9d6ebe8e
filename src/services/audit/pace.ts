import { setTimeout as delay } from "node:timers/promises";

/** A log of so many entries is checked whole by each question: it takes less than half a second. */
export const WHOLE_UP_TO = 100_000n;
/** After this long the background checks everything again. */
export const FULL_EVERY_MS = 10 * 60_000;
/** A server without the lease does so too, this many times less often: it signs only for what it has verified itself. */
export const PASS_RARER = 6;
/** The background rests nine times as long as its work took, so it takes a tenth of one core. */
export const REST_PER_WORK = 9;

/** Waits, or returns early when the signal aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Ends early, and without an error, when the signal aborts. Does not keep the process alive. */
export const sleepUntilAborted: Sleep = async (ms, signal) => {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
};
