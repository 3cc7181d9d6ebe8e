import type { StreamEvent } from "../../contract/resources/stream.ts";
import { EventReader } from "../../domain/event-reader.ts";
import type { Api } from "../api.ts";
import { Pauses } from "../pauses.ts";

export type LiveState = "connecting" | "live" | "offline";

export interface LiveHandlers {
  onEvent(event: StreamEvent): void;
  onState(state: LiveState): void;
  /** The server refuses the credentials. */
  onRefused(): void;
}

/** The server sends a heartbeat every 15 s; after three missed ones the connection is dead, although no error was reported. */
const SILENCE_MS = 45_000;

/**
 * Follows `/v1/stream` with fetch, because an EventSource cannot send the key. After an interruption it reconnects, and
 * resumes after the last event it has seen.
 * @returns stops following
 */
export function followLive(api: Api, markets: readonly string[], handlers: LiveHandlers): () => void {
  const query = markets.length === 0 ? "" : `?${new URLSearchParams({ markets: markets.join(",") })}`;
  const reader = new EventReader<StreamEvent>();
  const pauses = new Pauses();
  const enter = onceEach(handlers.onState);
  let stopped = false;
  let abort = new AbortController();

  const run = async (): Promise<void> => {
    while (!stopped) {
      enter("connecting");
      abort = new AbortController();
      const stream = { path: `/v1/stream${query}`, headers: api.headers, reader, abort };
      const askedMs = await readStream(stream, handlers, () => enter("live")).catch(() => undefined);
      if (stopped) return;
      enter("offline");
      await pauses.wait(askedMs);
    }
  };
  // The pause ends early when the browser is online again or the page visible again.
  const hurry = (): void => {
    if (navigator.onLine && !document.hidden) pauses.hurry();
  };
  const lose = (): void => abort.abort();
  window.addEventListener("online", hurry);
  window.addEventListener("offline", lose);
  document.addEventListener("visibilitychange", hurry);
  run();
  return () => {
    stopped = true;
    pauses.end();
    window.removeEventListener("online", hurry);
    window.removeEventListener("offline", lose);
    document.removeEventListener("visibilitychange", hurry);
    abort.abort();
  };
}

/** Tells of each new state once, however often the connection is tried again. */
function onceEach(tell: (state: LiveState) => void): (next: LiveState) => void {
  let state: LiveState | undefined;
  return (next) => {
    if (next === state || (next === "connecting" && state === "offline")) return;
    state = next;
    tell(next);
  };
}

interface Stream {
  path: string;
  headers: Api["headers"];
  /** Keeps the id of the last event across streams. */
  reader: EventReader<StreamEvent>;
  abort: AbortController;
}

/** Resolves, when the stream has ended, to the pause that the server asks for: 0 if the stream was open. */
async function readStream(
  { path, headers, reader, abort }: Stream,
  { onEvent, onRefused }: LiveHandlers,
  onOpen: () => void,
): Promise<number | undefined> {
  let silence: ReturnType<typeof setTimeout> | undefined;
  const heard = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => abort.abort(), SILENCE_MS);
  };
  reader.reset();
  heard();
  try {
    const { lastId } = reader;
    const response = await fetch(path, {
      headers: { ...headers, ...(lastId === undefined ? {} : { "last-event-id": lastId }) },
      credentials: "omit",
      signal: abort.signal,
    });
    if (response.status === 401) onRefused();
    if (!response.ok || !response.body) return Number(response.headers.get("retry-after")) * 1000 || undefined;
    onOpen();
    const body = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await body.read().catch(() => ({ done: true, value: undefined }));
      if (done || value === undefined) return 0;
      heard();
      for (const event of reader.read(value)) onEvent(event);
    }
  } finally {
    clearTimeout(silence);
  }
}
