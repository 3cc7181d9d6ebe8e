import { once } from "node:events";
import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { FACTS_PATH, isServerFacts, type ServerFacts } from "../contract/server-facts.ts";
import { parseJson } from "../domain/json/parse-json.ts";
import type { Fetch, Fetched, FetchOptions } from "./fetch.ts";

// An import would read every export of the module, and the one for WebSockets loads all of undici.
const http = process.getBuiltinModule("node:http");

/** Commands wait for a busy server: a command that gave up would go past the server. */
const TIMEOUT_MS = 5000;
/** A connection without a byte for so long is lost. */
const SILENCE_MS = 300_000;

/**
 * `fetch` through the socket of a server, whatever host and scheme an address states. Node's own `fetch` cannot use such
 * a socket, and loading undici's would take as long as the rest of a short command.
 * @param findAnother returns the server's socket after a restart
 */
export function socketFetch(
  path: string,
  findAnother: () => Promise<string | undefined> = async () => undefined,
): Fetch {
  let current = path;
  const open = async (): Promise<Socket> => {
    try {
      return await connected(current);
    } catch (error) {
      const another = await findAnother();
      if (another === undefined || another === current) throw error;
      current = another;
      return connected(current);
    }
  };
  const agent = new SocketAgent(open);
  return (url, options = {}) => exchanged(agent, url, options);
}

/** Keeps connections for further requests; they do not keep the process alive. */
class SocketAgent extends http.Agent {
  readonly #open: () => Promise<Socket>;

  constructor(open: () => Promise<Socket>) {
    super({ keepAlive: true });
    this.#open = open;
  }

  override createConnection(_: object, created: (error: Error | null, socket: Duplex) => void): undefined {
    this.#open().then(
      (socket) => created(null, socket),
      // Node passes no socket with an error, though its types require one.
      (error: Error) => (created as (error: Error) => void)(error),
    );
  }
}

async function connected(path: string): Promise<Socket> {
  const socket = connect(path);
  await once(socket, "connect");
  return socket;
}

/** @throws TypeError with the cause, as `fetch` does, where there is no answer; the signal's reason where it ended the request */
async function exchanged(agent: Agent, url: string, options: FetchOptions): Promise<Fetched> {
  const { method = "GET", headers, body, signal } = options;
  const { host, pathname, search } = new URL(url);
  // Within one machine compression costs more than it saves.
  const stated = { ...headers, host, "accept-encoding": "identity" };
  const path = pathname + search;
  const sent = http.request({ agent, method, path, headers: stated, timeout: SILENCE_MS, ...(signal && { signal }) });
  sent.on("timeout", () => sent.destroy(new Error("The server is silent")));
  // An error after the head of the answer ends its body too, whose reader learns of it.
  sent.on("error", () => {});
  const answer = await received(sent.end(body)).catch((error: unknown) => {
    throw failure(error, signal);
  });
  const { statusCode: status = 0, headers: answered } = answer;
  const chunks = chunksOf(answer, signal);
  return {
    ...{ status, ok: status >= 200 && status < 300, body: chunks },
    headers: { get: (name) => [answered[name] ?? null].flat()[0] ?? null },
    async text() {
      const parts: Uint8Array[] = [];
      for await (const chunk of chunks) parts.push(chunk);
      return Buffer.concat(parts).toString();
    },
  };
}

async function received(sent: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return answer;
}

async function* chunksOf(answer: IncomingMessage, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  try {
    yield* answer as AsyncIterable<Buffer>;
  } catch (error) {
    throw failure(error, signal);
  }
}

function failure(cause: unknown, signal: AbortSignal | undefined): unknown {
  return signal?.aborted ? signal.reason : new TypeError("fetch failed", { cause });
}

/**
 * The facts that the server behind a socket states.
 * @returns "gone" where nothing or no server listens, "silent" where a process accepts but does not answer in time
 */
export async function askFacts(path: string): Promise<ServerFacts | "gone" | "silent"> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const answer = await socketFetch(path)(`http://localhost${FACTS_PATH}`, { redirect: "error", signal });
    const facts = parseJson(await answer.text());
    return isServerFacts(facts) ? facts : "gone";
  } catch {
    return signal.aborted ? "silent" : "gone";
  }
}
