import { setTimeout as delay } from "node:timers/promises";
import type { Fetched } from "./fetch.ts";

interface PaceOptions {
  onWait?: ((message: string) => void) | undefined;
  /** How the caller could avoid a wait; added to long waits. */
  insteadOfWaiting?: string | undefined;
  sleep?: ((ms: number) => Promise<unknown>) | undefined;
}

const LONGEST_WINDOW_SEC = 60;
const LONG_WAIT_MS = 2000;

/** A wait for a rate limit in whole seconds, with a way to avoid a long one. */
export function waitText(waitMs: number, { insteadOfWaiting }: Pick<PaceOptions, "insteadOfWaiting">): string {
  const seconds = `${Math.ceil(waitMs / 1000)} s`;
  return waitMs > LONG_WAIT_MS && insteadOfWaiting !== undefined ? `${seconds}; ${insteadOfWaiting}` : seconds;
}

/** Yields until the signal is aborted, with a pause after each round: for polling. */
export async function* rounds(pauseMs: number, signal: AbortSignal): AsyncGenerator<void> {
  while (!signal.aborted) {
    yield;
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Keeps many calls within the server's rate limit. After the answer that used up the window, the next request waits for
 * a new window, so that a long walk, such as a verification page by page, is not refused.
 */
export class Pace {
  readonly #options: PaceOptions;
  /** On the monotonic clock; undefined while requests are left. */
  #nextWindowAt: number | undefined;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Reads the `RateLimit-*` headers of an answer. A server without them sets no pace. */
  note(response: Fetched): void {
    const reset = Number(response.headers.get("ratelimit-reset"));
    const isUsedUp = response.headers.get("ratelimit-remaining") === "0" && reset > 0;
    this.#nextWindowAt = isUsedUp ? performance.now() + Math.min(reset, LONGEST_WINDOW_SEC) * 1000 : undefined;
  }

  async wait(): Promise<void> {
    const waitMs = (this.#nextWindowAt ?? 0) - performance.now();
    this.#nextWindowAt = undefined;
    if (waitMs <= 0) return;
    this.#options.onWait?.(`The server's rate limit is used up: going on in ${waitText(waitMs, this.#options)}`);
    await (this.#options.sleep ?? delay)(waitMs);
  }
}
