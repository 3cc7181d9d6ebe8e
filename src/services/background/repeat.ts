import { setTimeout as delay } from "node:timers/promises";

/** Waits, or returns early when the signal aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Ends early, and without an error, when the signal aborts. Does not keep the process alive. */
export const sleepUntilAborted: Sleep = async (ms, signal) => {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
};

/** Work that repeats until it is stopped. */
export interface Repeated {
  /** Resolves after the first attempt. */
  first: Promise<void>;
  /** Ends the pause early: the current one or else the next, so that no wake-up is lost. */
  wake(): void;
  /** Aborts the signal of the work in progress and waits for its end. */
  stop(): Promise<void>;
}

export interface RepeatOptions {
  /** The pause after each time. */
  pauseMs: number;
  /** Called for the first of consecutive failures only: while the database is away every time fails alike. */
  onError: (error: unknown) => void;
  sleep?: Sleep;
}

/** Repeats work from now on, one at a time. */
export function repeat(
  work: (signal: AbortSignal) => Promise<unknown>,
  { pauseMs, onError, sleep = sleepUntilAborted }: RepeatOptions,
): Repeated {
  const abort = new AbortController();
  const { signal } = abort;
  const { promise: first, resolve: tried } = Promise.withResolvers<void>();
  let pause = new AbortController();
  const run = async () => {
    for (let failing = false; !signal.aborted; ) {
      pause = new AbortController();
      try {
        await work(signal);
        failing = false;
      } catch (error) {
        if (!failing && !signal.aborted) onError(error);
        failing = true;
      }
      tried();
      if (!signal.aborted) await sleep(pauseMs, pause.signal);
    }
  };
  const ended = run();
  return {
    first,
    wake: () => pause.abort(),
    stop: () => {
      abort.abort();
      pause.abort();
      return ended;
    },
  };
}
