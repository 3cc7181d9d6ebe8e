import type { StreamEvents } from "../contract/stream.ts";
import type { Api } from "./api.ts";

export type LiveState = "connecting" | "live" | "offline";

export interface LiveHandlers {
  onEvent<Name extends keyof StreamEvents>(name: Name, data: StreamEvents[Name]): void;
  onState(state: LiveState): void;
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
  let lastId: string | undefined;
  let stopped = false;
  let abort = new AbortController();
  let silence: ReturnType<typeof setTimeout> | undefined;

  const heard = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => abort.abort(), SILENCE_MS);
  };

  const readOnce = async (): Promise<boolean> => {
    abort = new AbortController();
    heard();
    const response = await fetch(`/v1/stream${query}`, {
      headers: { ...api.headers, ...(lastId === undefined ? {} : { "last-event-id": lastId }) },
      credentials: "omit",
      signal: abort.signal,
    });
    if (!response.ok || !response.body) return false;
    handlers.onState("live");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let pending = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return true;
      heard();
      pending += value;
      const blocks = pending.split("\n\n");
      pending = blocks.pop() ?? "";
      for (const block of blocks) take(block);
    }
  };

  const take = (block: string): void => {
    const fields = new Map(
      block
        .split("\n")
        .filter((line) => !line.startsWith(":"))
        .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trimStart()]),
    );
    lastId = fields.get("id") ?? lastId;
    const [name, data] = [fields.get("event"), fields.get("data")];
    if (name !== undefined && data !== undefined) handlers.onEvent(name as keyof StreamEvents, JSON.parse(data));
  };

  const run = async (): Promise<void> => {
    let pause = FIRST_PAUSE_MS;
    while (!stopped) {
      handlers.onState("connecting");
      const connected = await readOnce().catch(() => false);
      if (stopped) return;
      pause = connected ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
      handlers.onState("offline");
      // Everybody lost the same server at the same moment; they must not all come back at the same moment.
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
    }
  };
  run();
  return () => {
    stopped = true;
    clearTimeout(silence);
    abort.abort();
  };
}
