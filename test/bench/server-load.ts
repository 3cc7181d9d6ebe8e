import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { SignJWT } from "jose";
import type { Connection } from "../../src/postgres/connect.ts";
import { type LoadResult, request, runLoad } from "./load.ts";
import { JWT_SECRET, PUBLIC_KEY, traderOf } from "./scene.ts";

const CLIENTS = [128, 256];

/** Durable trades per second over HTTP, at the best client count; every answer was a 200. */
export async function httpTrades(connection: Connection, markets: string[], seconds: number): Promise<number> {
  const tokens = await Promise.all(Array.from({ length: Math.max(...CLIENTS) }, (_, client) => tokenOf(client)));
  // Half a minute of preparation would go into building requests one by one, so each client repeats a few.
  const requests = tokens.map((token) =>
    Array.from({ length: 20 }, (_, turn) =>
      request(
        "POST",
        "/v1/trade",
        { "x-api-key": PUBLIC_KEY, authorization: `Bearer ${token}` },
        {
          marketId: markets[turn % markets.length],
          selection: { side: turn % 4 < 2 ? "yes" : "no" },
          amount: 1 + (turn % 7),
        },
      ),
    ),
  );
  const next = (client: number, turn: number) => requests[client]?.[turn % 20] as Buffer;
  return withServer("./server.ts", [JSON.stringify(connection)], async (port) => {
    await runLoad(port, { clients: 64, seconds: 2, next });
    let best = 0;
    for (const clients of CLIENTS) {
      const result = await runLoad(port, { clients, seconds, next });
      report(`trades over HTTP at ${clients} clients`, result);
      best = Math.max(best, result.perSecond);
    }
    return best;
  });
}

/** Market details per second, of pmctl and of a handler that returns a ready text. */
export async function marketReads(
  connection: Connection,
  markets: string[],
  seconds: number,
): Promise<{ read: number; bare: number }> {
  const requests = markets.map((id) => request("GET", `/v1/markets/${id}`, { "x-api-key": PUBLIC_KEY }));
  const next = (client: number, turn: number) => requests[(client + turn) % requests.length] as Buffer;
  const load = (port: number) => runLoad(port, { clients: 64, seconds, next });
  const read = await withServer("./server.ts", [JSON.stringify(connection)], load);
  report("market reads", read);
  const bare = await withServer("./bare-server.ts", [], load);
  report("bare h3 handler", bare);
  return { read: read.perSecond, bare: bare.perSecond };
}

async function withServer<T>(program: string, args: string[], work: (port: number) => Promise<T>): Promise<T> {
  const child = fork(new URL(program, import.meta.url), args, {
    // As `pmctl serve` starts itself.
    execArgv: ["--max-semi-space-size=16", "--heap-growing-percent=70"],
    env: { ...process.env, MALLOC_ARENA_MAX: "1" },
  });
  const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`The server ended with ${code}`)));
  const { port } = await Promise.race([message<{ port: number }>(child), ended]);
  const result = await work(port);
  child.send("stop");
  ended.catch(() => {});
  const { batches, rss } = await message<{ batches: [number, number][]; rss: number }>(child);
  if (batches.length > 0)
    console.log(`batches of up to n commands: ${batches.map(([n, c]) => `${n}: ${c}`).join(", ")}`);
  console.log(`memory of the server: ${Math.round(rss / 1e6)} MB`);
  return result;
}

async function message<T>(child: ChildProcess): Promise<T> {
  const [value] = await once(child, "message");
  return value as T;
}

async function tokenOf(client: number): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(traderOf(client))
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(new TextEncoder().encode(JWT_SECRET));
}

function report(name: string, { perSecond, p50, p99, statuses }: LoadResult): void {
  const refused = [...statuses].filter(([status]) => status !== 200).map(([status, count]) => `${count} x ${status}`);
  const trouble = refused.length === 0 ? "" : `, NOT ALL WERE 200: ${refused.join(", ")}`;
  console.log(`${name}: ${Math.round(perSecond)}/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms${trouble}`);
}
