import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/time/units.ts";

/** How long after each failed attempt the next one follows; a failure after the last makes a dead letter. */
const DELAYS_MS = [5000, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS] as const;
/** The longest wait that a receiver's `Retry-After` can ask for. */
const LONGEST_WAIT_MS = DAY_MS;
/** Delays grow by up to this part of themselves, so that deliveries that failed together do not come back together. */
const JITTER = 0.2;
/** The status by which a receiver says that it wants no more events. */
const GONE = 410;

/** The result of an attempt. */
export interface AttemptResult {
  /** Of the answer; null when there was none. */
  status: number | null;
  /** The beginning of the response, or why there was none. */
  excerpt: string;
  retryAfter?: string | undefined;
}

/** What follows from an attempt. */
export type Verdict =
  | { kind: "delivered" }
  | { kind: "retry"; atMs: number }
  /** Given up. `disables`: nothing more is sent to this receiver. */
  | { kind: "dead"; disables: boolean };

/**
 * @param attempts how many were made, this one included
 * @param nowMs when the attempt ended
 * @param random from 0 to 1
 */
export function evaluateAttempt(
  { status, retryAfter }: AttemptResult,
  attempts: number,
  nowMs: number,
  random: number,
): Verdict {
  if (status !== null && status >= 200 && status < 300) return { kind: "delivered" };
  if (status === GONE) return { kind: "dead", disables: true };
  const delayMs = DELAYS_MS[attempts - 1];
  if (delayMs === undefined) return { kind: "dead", disables: false };
  const jitteredMs = Math.round(delayMs * (1 + JITTER * random));
  return { kind: "retry", atMs: nowMs + Math.max(jitteredMs, waitAskedFor(retryAfter, nowMs)) };
}

/** `Retry-After` as whole seconds or as a date; 0 for anything else. */
function waitAskedFor(retryAfter: string | undefined, nowMs: number): number {
  if (retryAfter === undefined) return 0;
  const waitMs = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs;
  return Number.isFinite(waitMs) ? Math.min(Math.max(waitMs, 0), LONGEST_WAIT_MS) : 0;
}
