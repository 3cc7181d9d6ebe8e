import type { Api } from "./api.ts";
import { EventReader, type LiveEvent } from "./event-reader.ts";

export type LiveState = "connecting" | "live" | "offline";

export interface LiveHandlers {
  onEvent(event: LiveEvent): void;
  onState(state: LiveState): void;
  /** The server does not take the credentials any more. */
  onRefused(): void;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
/** The server sends a heartbeat every 15 s; after three of them missed the connection is dead, whatever it says. */
const SILENCE_MS = 45_000;

/**
 * Follows `/v1/stream` with fetch, because an EventSource cannot send the key. Comes back by itself after an
 * interruption, from the last event it has seen.
 */
export function followLive(api: Api, markets: readonly string[], handlers: LiveHandlers): () => void {
  const query = markets.length === 0 ? "" : `?${new URLSearchParams({ markets: markets.join(",") })}`;
  const reader = new EventReader();
  let stopped = false;
  let abort = new AbortController();
  let silence: ReturnType<typeof setTimeout> | undefined;
  let endPause = (): void => {};
  let mayHurry = true;

  let state: LiveState | undefined;
  const enter = (next: LiveState): void => {
    // Whoever reads hears of it once, however often it is tried again.
    if (next === state || (next === "connecting" && state === "offline")) return;
    state = next;
    handlers.onState(next);
  };

  const heard = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => abort.abort(), SILENCE_MS);
  };

  /** Resolves, when the stream has ended, to the pause that the server asks for: 0 if it was there at all. */
  const readOnce = async (): Promise<number | undefined> => {
    abort = new AbortController();
    reader.reset();
    heard();
    const { lastId } = reader;
    const response = await fetch(`/v1/stream${query}`, {
      headers: { ...api.headers, ...(lastId === undefined ? {} : { "last-event-id": lastId }) },
      credentials: "omit",
      signal: abort.signal,
    });
    if (response.status === 401) handlers.onRefused();
    if (!response.ok || !response.body) return Number(response.headers.get("retry-after")) * 1000 || undefined;
    enter("live");
    const body = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await body.read().catch(() => ({ done: true, value: undefined }));
      if (done || value === undefined) return 0;
      heard();
      for (const event of reader.read(value)) handlers.onEvent(event);
    }
  };

  const pauseFor = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  // Whoever is back online, or back at the page, need not wait for the rest of a pause.
  const hurry = (): void => {
    if (mayHurry && navigator.onLine && !document.hidden) endPause();
  };
  const lose = (): void => abort.abort();

  const run = async (): Promise<void> => {
    let pause = FIRST_PAUSE_MS;
    while (!stopped) {
      enter("connecting");
      const asked = await readOnce().catch(() => undefined);
      clearTimeout(silence);
      if (stopped) return;
      enter("offline");
      pause = asked === 0 ? FIRST_PAUSE_MS : Math.min(Math.max(pause * 2, asked ?? 0), LONGEST_PAUSE_MS);
      // A server that named a time means it.
      mayHurry = !asked;
      // Everybody lost the same server at the same moment; they must not all come back at the same moment.
      await pauseFor(Math.max(asked ?? 0, pause * (0.5 + Math.random() / 2)));
    }
  };
  window.addEventListener("online", hurry);
  window.addEventListener("offline", lose);
  document.addEventListener("visibilitychange", hurry);
  run();
  return () => {
    stopped = true;
    clearTimeout(silence);
    endPause();
    window.removeEventListener("online", hurry);
    window.removeEventListener("offline", lose);
    document.removeEventListener("visibilitychange", hurry);
    abort.abort();
  };
}
