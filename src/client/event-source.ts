import { setTimeout as delay } from "node:timers/promises";
import type { StreamEvents } from "../contract/resources/stream.ts";
import { Fault } from "../domain/fault.ts";
import { connectionFailure, faultFrom } from "./http-answer.ts";

/** One event of `GET /v1/stream`, as it travels. */
export type StreamEvent = {
  [Name in keyof StreamEvents]: { event: Name; data: StreamEvents[Name] };
}[keyof StreamEvents];

export interface EventSourceOptions {
  url: string;
  apiKey: string;
  /** Only these markets; all open ones without it. */
  markets?: readonly string[] | undefined;
  /** Ends the stream; the iteration then ends without an error. */
  signal: AbortSignal;
  onWait?: ((message: string) => void) | undefined;
  /** How long to wait before connecting again, unless the server says. */
  retryMs?: number;
  /** Sends the key only to what it knows to be the server. */
  fetch: typeof fetch;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** The server sends something every 15 s; a silence three times as long is a connection that died unseen. */
const SILENCE_MS = 45_000;

/**
 * The events of a running server, over as many connections as it takes: a lost one is opened again and goes on after the
 * last event that was seen. Refusals of the server end it.
 */
export async function* eventSource(options: EventSourceOptions): AsyncGenerator<StreamEvent> {
  const { signal, onWait } = options;
  const state = { lastId: undefined as string | undefined, retryMs: options.retryMs ?? 2000 };
  while (!signal.aborted) {
    try {
      yield* connection(options, state);
      // The server said goodbye: it restarts, or its client was too slow.
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Fault) throw error;
      const { reason, neverSent, fault } = connectionFailure(error);
      if (neverSent && state.lastId === undefined)
        throw fault ?? new Fault("UNREACHABLE", `Cannot reach ${options.url}: ${reason}`, { cause: error });
      onWait?.(`The stream was lost (${reason}): connecting again`);
    }
    await delay(state.retryMs, undefined, { signal }).catch(() => undefined);
  }
}

async function* connection(
  { url, apiKey, markets, signal, fetch: request }: EventSourceOptions,
  state: { lastId: string | undefined; retryMs: number },
): AsyncGenerator<StreamEvent> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(new DOMException("silence", "TimeoutError")), CONNECT_TIMEOUT_MS);
  const query = markets ? `?markets=${encodeURIComponent(markets.join(","))}` : "";
  try {
    const response = await request(`${url}/v1/stream${query}`, {
      headers: { "x-api-key": apiKey, ...(state.lastId === undefined ? {} : { "last-event-id": state.lastId }) },
      redirect: "manual",
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok || !response.body) throw faultFrom(response, await response.json().catch(() => undefined));
    let rest = "";
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(new DOMException("silence", "TimeoutError")), SILENCE_MS);
      const blocks = (rest + text).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parseBlock(block, state);
        if (event) yield event;
      }
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

/** One block of lines; undefined for a comment. The id is remembered once the whole entry has been seen. */
function parseBlock(block: string, state: { lastId: string | undefined; retryMs: number }): StreamEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  state.lastId = fields.get("id") ?? state.lastId;
  const retryMs = Number(fields.get("retry"));
  if (retryMs > 0) state.retryMs = Math.min(retryMs, 60_000);
  const [event, data] = [fields.get("event"), fields.get("data")];
  return event === undefined || data === undefined ? undefined : ({ event, data: JSON.parse(data) } as StreamEvent);
}
