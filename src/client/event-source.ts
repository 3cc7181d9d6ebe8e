import { setTimeout as delay } from "node:timers/promises";
import type { StreamEvent } from "../contract/resources/stream.ts";
import { EventReader } from "../domain/event-reader.ts";
import { Fault } from "../domain/fault.ts";
import { parseJson } from "../domain/json/parse-json.ts";
import type { Fetch } from "./fetch.ts";
import { connectionFailure, faultFrom } from "./http-answer.ts";

export interface EventSourceOptions {
  url: string;
  apiKey: string;
  /** Only these markets; all open ones unless given. */
  markets?: readonly string[] | undefined;
  /** Ends the stream; the iteration then ends without an error. */
  signal: AbortSignal;
  onWait?: ((message: string) => void) | undefined;
  /** The pause before a new connection, unless the server states one. */
  retryMs?: number;
  /** Verifies the server before it sends the key. */
  fetch: Fetch;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** The server sends a heartbeat every 15 s. After three times that without one, the connection counts as lost. */
const SILENCE_MS = 45_000;
const RETRY_MS = 2000;
const LONGEST_RETRY_MS = 60_000;

/**
 * The events of a running server. A lost connection is opened again, and the events go on after the last one received.
 * An error of the server ends the iteration.
 */
export async function* eventSource(options: EventSourceOptions): AsyncGenerator<StreamEvent> {
  const { signal, onWait } = options;
  const reader = new EventReader<StreamEvent>();
  while (!signal.aborted) {
    try {
      reader.reset();
      yield* connection(options, reader);
      // The server ended the stream: it restarts, or this client was too slow.
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Fault) throw error;
      const { reason, neverSent } = connectionFailure(error);
      if (neverSent && reader.lastId === undefined)
        throw new Fault("UNREACHABLE", `Cannot reach ${options.url}: ${reason}`, { cause: error });
      onWait?.(`The stream was lost (${reason}): connecting again`);
    }
    const retryMs = Math.min(reader.retryMs ?? options.retryMs ?? RETRY_MS, LONGEST_RETRY_MS);
    await delay(retryMs, undefined, { signal }).catch(() => undefined);
  }
}

async function* connection(
  { url, apiKey, markets, signal, fetch: request }: EventSourceOptions,
  reader: EventReader<StreamEvent>,
): AsyncGenerator<StreamEvent> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(new DOMException("silence", "TimeoutError")), CONNECT_TIMEOUT_MS);
  const { lastId } = reader;
  const query = markets ? `?markets=${encodeURIComponent(markets.join(","))}` : "";
  try {
    const response = await request(`${url}/v1/stream${query}`, {
      headers: { "x-api-key": apiKey, ...(lastId === undefined ? {} : { "last-event-id": lastId }) },
      redirect: "manual",
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok || !response.body) throw faultFrom(response, parseJson(await response.text()));
    const decoder = new TextDecoder();
    for await (const bytes of response.body) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(new DOMException("silence", "TimeoutError")), SILENCE_MS);
      yield* reader.read(decoder.decode(bytes, { stream: true }));
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}
