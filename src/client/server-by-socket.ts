import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { FACTS_PATH, ServerFacts } from "../contract/server-facts.ts";
import { parseJson } from "../domain/json/parse-json.ts";

/** Commands wait for a busy server: a command that gave up would go past the server. */
const TIMEOUT_MS = 5000;

/**
 * `fetch` through the socket of a server, whatever host and scheme an address states.
 * @param findAnother returns the server's socket after a restart
 */
export async function socketFetch(
  path: string,
  findAnother: () => Promise<string | undefined> = async () => undefined,
): Promise<typeof fetch> {
  const { Agent, fetch: fetchThrough } = await import("undici");
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
  const dispatcher = new Agent({
    connect: (_, callback) =>
      void open().then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      ),
  });
  const request = (input: string, init: object = {}) =>
    fetchThrough(input.replace(/^https:/, "http:"), { ...init, dispatcher });
  return request as unknown as typeof fetch;
}

async function connected(path: string): Promise<Socket> {
  const socket = connect(path);
  await once(socket, "connect");
  return socket;
}

/**
 * The facts that the server behind a socket states.
 * @returns "gone" where nothing or no server listens, "silent" where a process accepts but does not answer in time
 */
export async function askFacts(path: string): Promise<ServerFacts | "gone" | "silent"> {
  const request = await socketFetch(path);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const answer = await request(`http://localhost${FACTS_PATH}`, { redirect: "error", signal });
    return ServerFacts.safeParse(parseJson(await answer.text())).data ?? "gone";
  } catch {
    return signal.aborted ? "silent" : "gone";
  }
}
