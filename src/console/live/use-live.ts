import { useEffect, useReducer, useRef } from "preact/hooks";
import type { Api } from "../../contract/operations.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { ApiOptions } from "../api.ts";
import { useDesk } from "../desk.ts";
import { Refused } from "../refused.ts";
import { PATIENCE_MS } from "./changes.ts";
import { pauseAfter } from "./pause.ts";

/** What a view reads, kept current. */
export interface Live<Value> {
  /** Undefined until the first answer. */
  value: Value | undefined;
  /** When the value was read, or without one the refusal, in milliseconds since 1970. */
  readAtMs: number | undefined;
  /** Why the last read failed; a value that was read before stays. */
  refused: Refused | undefined;
  /** Whether the value may be out of date. */
  isStale: boolean;
  /** Whether no answer comes, to this read or to any. */
  isLost: boolean;
  /** Reads again now. */
  renew(): void;
}

interface Reading<Value> {
  key: string;
  value: Value | undefined;
  readAtMs: number | undefined;
  /** When the read of the value began, as `performance.now()`. */
  askedAtMs?: number;
  refused: Refused | undefined;
}

/**
 * Reads when the view opens or its key changes, and again after each change of the tenant. While a read is repeated, the
 * view shows the value before. A read that nothing waits for any more is ended.
 * @param read reads by the api, or by another one with the same options
 * @param key names what is read, such as the view's query
 * @param everyMs for figures that change without a change of the tenant: after how long they are read again
 * @param isReport whether it may be read less often if it takes long
 */
export function useLive<Value>(
  read: (api: Api, options: ApiOptions) => Promise<Value>,
  key: string,
  everyMs?: number,
  isReport = false,
): Live<Value> {
  const { apiFor, changes } = useDesk();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const reading = useRef<Reading<Value>>({ key, value: undefined, readAtMs: undefined, refused: undefined });
  const latest = useRef(read);
  latest.current = read;
  const renew = useRef((): void => {});
  const isLate = useRef(false);
  if (reading.current.key !== key) reading.current = { key, value: undefined, readAtMs: undefined, refused: undefined };

  useEffect(() => {
    let isReading = false;
    let isWanted = false;
    let asked = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const once = async (isBackground: boolean): Promise<void> => {
      isReading = true;
      isWanted = false;
      asked.abort();
      asked = new AbortController();
      const { signal } = asked;
      const startMs = performance.now();
      const before = reading.current;
      const patience = setTimeout(() => {
        isLate.current ||= !signal.aborted;
        redraw(undefined);
      }, PATIENCE_MS);
      try {
        const options = { isBackground, signal };
        const value = await latest.current(apiFor(options), options);
        if (!signal.aborted)
          reading.current = { key, value, readAtMs: wallClockMs(), askedAtMs: startMs, refused: undefined };
      } catch (error) {
        if (!signal.aborted)
          reading.current = { ...before, key, readAtMs: before.readAtMs ?? wallClockMs(), refused: refusedFor(error) };
      }
      clearTimeout(patience);
      if (signal.aborted) return;
      isLate.current = false;
      redraw(undefined);
      timer = setTimeout(
        () => {
          isReading = false;
          if (isWanted) again();
        },
        pauseAfter(performance.now() - startMs, isReport),
      );
    };
    renew.current = () => {
      clearTimeout(timer);
      void once(false);
    };
    void once(false);
    let wasLost = changes.isLost;
    const again = (): void => {
      // In a busy market a hundred trades a second arrive, and the view shows none of them before its next read.
      if (changes.isLost !== wasLost) redraw(undefined);
      // What was asked before the loss may never be answered.
      if (wasLost && !changes.isLost) {
        clearTimeout(timer);
        isReading = false;
      }
      wasLost = changes.isLost;
      isWanted = true;
      if (!isReading && document.visibilityState === "visible") void once(true);
    };
    const stop = changes.listen(again);
    const interval = everyMs === undefined ? undefined : setInterval(again, everyMs);
    return () => {
      asked.abort();
      isLate.current = false;
      clearTimeout(timer);
      clearInterval(interval);
      stop();
    };
  }, [key, apiFor, changes, everyMs, isReport]);

  const { value, readAtMs, askedAtMs = 0, refused } = reading.current;
  const isLost = changes.isLost || isLate.current;
  return {
    value,
    readAtMs,
    refused,
    isStale: value !== undefined && (isLost || refused !== undefined || askedAtMs < changes.foundAtMs),
    isLost,
    renew: () => renew.current(),
  };
}

/** The same for sums over everything that a tenant ever did. */
export const useReport = <Value>(read: (api: Api, options: ApiOptions) => Promise<Value>, key: string): Live<Value> =>
  useLive(read, key, undefined, true);

function refusedFor(error: unknown): Refused {
  if (error instanceof Refused) return error;
  // A fault of this page is shown, too: a view that stays empty would say nothing.
  return new Refused("INTERNAL", error instanceof Error ? error.message : "Unexpected failure");
}
