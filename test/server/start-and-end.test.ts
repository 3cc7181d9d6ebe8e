import { Agent, request as httpRequest } from "node:http";
import { connect as connectSocket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Metrics } from "../../src/server/observe/metrics.ts";
import { Answered, type Caller, type Handlers } from "../../src/services/invoke.ts";
import { ownTime } from "../support/own-time.ts";
import { backendOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, insertKey, openBackend, PUBLIC_KEY, serve, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";
import { open } from "./support/sockets.ts";

const backend = backendOfTests();

const handlers = {
  getHealth: async () => ({ ok: true, service: "acme", db: true, uptimeSec: 1 }),
  listTrendingMarkets: async () => [],
  placeTrade: async ({ marketId }: { marketId: string }) => {
    throw new (await import("../../src/domain/fault.ts")).Fault("MARKET_CLOSED", `Market is closed ${marketId.length}`);
  },
} as unknown as Handlers;

/** Waits for requests on their way, and for the shared count, as long as a served tenant does. */
const PRODUCTION = { lastRequestMs: undefined, countTimeoutMs: undefined };
/** Below the 25 s after which a closing server stops waiting for clients. */
const DRAIN_MS = 20_000;

describe("closing", () => {
  test("finishes what is in flight, ends its connection, and refuses new ones", async () => {
    const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const listTrendingMarkets = async () => {
      reached.resolve();
      await release.promise;
      return [];
    };
    const server = await serve(backend, { ...handlers, listTrendingMarkets }, PRODUCTION);
    const headers = { "x-api-key": PUBLIC_KEY };
    const slow = fetch(`${server.url}/v1/markets/trending`, { headers });
    await reached.promise;
    const closing = server.close();
    const readiness = await fetch(`${server.opsUrl}/readyz`);
    expect([readiness.status, await readiness.json()]).toMatchObject([503, { ok: false, draining: true }]);
    expect((await fetch(`${server.opsUrl}/livez`)).status).toBe(200);
    release.resolve();
    const response = await slow;
    expect([response.status, response.headers.get("connection")]).toEqual([200, "close"]);
    await closing;
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
    await expect(fetch(`${server.opsUrl}/livez`)).rejects.toThrow();
  });

  test("answers every request that was accepted, under load on kept connections", async () => {
    // Every connection ends with its next answer, so no client waits that long unless the whole machine stands still.
    const server = await serve(backend, handlers, { lastRequestMs: DRAIN_MS });
    const agent = new Agent({ keepAlive: true, maxSockets: 200 });
    const broken: string[] = [];
    /** Resolves to false once the port is closed. Anything else that fails was an accepted request without an answer. */
    const ask = () =>
      new Promise<boolean>((resolve) => {
        const fail = (error: NodeJS.ErrnoException) => {
          if (error.code !== "ECONNREFUSED") broken.push(`${error.code} ${error.message}`);
          resolve(false);
        };
        httpRequest(`${server.url}/health`, { agent }, (res) => {
          res
            .resume()
            .on("end", () => resolve(true))
            .on("error", fail);
        })
          .on("error", fail)
          .end();
      });
    // All connections stand before the port closes: those that wait to be accepted at that moment are lost.
    expect(await Promise.all(Array.from({ length: 200 }, ask))).not.toContain(false);
    let answered = 0;
    const clients = Array.from({ length: 200 }, async () => {
      while (await ask()) answered += 1;
    });
    await expect.poll(() => answered).toBeGreaterThan(200);
    const elapsed = ownTime();
    await server.close();
    expect(elapsed()).toBeLessThan(DRAIN_MS);
    await Promise.all(clients);
    agent.destroy();
    expect(broken).toEqual([]);
  });

  test("ends a connection whose request is still arriving before it waits for one that has arrived", async () => {
    const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const listTrendingMarkets = async () => {
      reached.resolve();
      await release.promise;
      return [];
    };
    const server = await serve(backend, { ...handlers, listTrendingMarkets });
    const headers = { "x-api-key": PUBLIC_KEY };
    const whole = fetch(`${server.url}/v1/markets/trending`, { headers });
    const authorized = `x-api-key: ${PUBLIC_KEY}\r\nauthorization: Bearer ${await userToken()}\r\n`;
    const head = `POST /v1/trade HTTP/1.1\r\nhost: x\r\n${authorized}content-type: application/json\r\ncontent-length: 10\r\n\r\n`;
    const arriving = await Promise.all(
      [`${head}{"a`, "GET /health HTTP/1.1\r\nho", ""].map((bytes) => open(server.port, "127.0.0.1", bytes)),
    );
    await reached.promise;
    const closing = server.close();
    await Promise.all(arriving.map(({ end }) => end));
    expect(arriving[0]?.received()).toMatch(/^HTTP\/1.1 408 /);
    release.resolve();
    expect((await whole).status).toBe(200);
    await closing;
  });

  test("while it drains it says so and serves on, each answer ends its connection, and the signal cuts the time short", async () => {
    const server = await serve(backend, handlers, PRODUCTION);
    const cut = new AbortController();
    const onEnd = vi.fn();
    const draining = server.drain(DRAIN_MS, cut.signal).then(onEnd);
    const readiness = await fetch(`${server.opsUrl}/readyz`);
    expect([readiness.status, await readiness.json()]).toMatchObject([503, { ok: false, draining: true }]);
    expect((await fetch(`${server.opsUrl}/livez`)).status).toBe(200);
    expect(await (await fetch(`${server.opsUrl}/metrics`)).text()).toContain("\npmctl_draining 1\n");
    for (let request = 0; request < 3; request += 1) {
      const response = await fetch(`${server.url}/health`);
      expect([response.status, response.headers.get("connection")]).toEqual([200, "close"]);
    }
    expect(onEnd).not.toHaveBeenCalled();
    cut.abort();
    await draining;
    await server.close();
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
  });

  test("does not wait for connections that say nothing, and may be asked twice", async () => {
    const server = await serve(backend, handlers, PRODUCTION);
    const silent = connectSocket(server.port, "127.0.0.1");
    const halfway = connectSocket(server.port, "127.0.0.1", () => halfway.write("GET /health HTTP/1.1\r\n"));
    for (const socket of [silent, halfway]) socket.on("error", () => {});
    await (await fetch(`${server.url}/health`)).text();
    const elapsed = ownTime();
    await Promise.all([server.close(), server.close()]);
    expect(elapsed()).toBeLessThan(DRAIN_MS);
    silent.destroy();
    halfway.destroy();
  });

  test("a port in use and an address that is none are refused with a sentence and no line of the log, and leave nothing open", async () => {
    const server = await serve(backend, handlers, PRODUCTION);
    const { startServer } = await import("../../src/server/server.ts");
    const { pino } = await import("pino");
    const logged: string[] = [];
    const options = {
      tenantId: "x",
      services: { handlers, isSealed: () => true },
      pool: backend.pool,
      jwt: { algorithm: "HS256", secret: "s" } as const,
      corsOrigins: [],
      trustProxy: [],
      rateLimit: { perMinute: 20 },
      isDatabaseUp: async () => true,
      log: pino({}, { write: (line: string) => logged.push(line) }),
    };
    const start = (port: number, opsPort: number, host = "127.0.0.1") => startServer(options, { host, port, opsPort });
    await expect(start(server.port, 0)).rejects.toThrow(`Cannot listen on 127.0.0.1 port ${server.port}: it is in use`);
    await expect(start(0, server.opsPort)).rejects.toThrow("it is in use");
    await expect(start(0, 0, "x y")).rejects.toThrow("Cannot listen on x y port 0: E");
    expect(logged).toEqual([]);
    await server.close();
  });
});

describe("the operations listener", () => {
  test("is alive without the database, but not ready, and a probe that hangs counts as none", async () => {
    for (const isDatabaseUp of [
      async () => false,
      () => Promise.reject(new Error("away")),
      () => new Promise<boolean>(() => {}),
    ]) {
      const server = await serve(backend, handlers, { isDatabaseUp });
      expect(await (await fetch(`${server.opsUrl}/livez`)).json()).toEqual({ ok: true, tenant: "acme" });
      const ready = await fetch(`${server.opsUrl}/readyz`);
      expect([ready.status, await ready.json()]).toMatchObject([503, { ok: false, db: false }]);
      await server.close();
    }
  });

  test("is ready with it, and serves nothing else", async () => {
    const server = await serve(backend, handlers);
    expect((await fetch(`${server.opsUrl}/readyz`)).status).toBe(200);
    for (const [path, method] of [
      ["/", "GET"],
      ["/health", "GET"],
      ["/metrics", "POST"],
    ]) {
      const response = await fetch(`${server.opsUrl}${path}`, { method: method ?? "GET" });
      expect([response.status, await response.json()]).toEqual([404, { error: "Not found" }]);
    }
    await server.close();
  });

  test("shows requests, durations, trades and the sequencer, all under pmctl_", async () => {
    const metrics = new Metrics();
    metrics.observeBatch(3);
    metrics.setQueueLength(() => 7);
    const server = await serve(backend, handlers, { metrics });
    const headers = { "x-api-key": PUBLIC_KEY, "content-type": "application/json" };
    await fetch(`${server.url}/health`);
    await fetch(`${server.url}/health`);
    await fetch(`${server.url}/v1/markets/secret-id/x`);
    const trade = { marketId: "m", selection: { side: "yes" }, amount: 1 };
    await fetch(`${server.url}/v1/trade`, {
      method: "POST",
      body: JSON.stringify(trade),
      headers: { ...headers, authorization: `Bearer ${await userToken()}` },
    });
    const response = await fetch(`${server.opsUrl}/metrics`);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const lines = (await response.text()).split("\n");
    for (const line of [
      'pmctl_http_requests_total{route="/health",method="GET",status="200"} 2',
      'pmctl_http_requests_total{route="/**",method="any",status="404"} 1',
      'pmctl_http_requests_total{route="/v1/trade",method="POST",status="400"} 1',
      'pmctl_http_request_duration_seconds_bucket{route="/health",method="GET",le="+Inf"} 2',
      'pmctl_http_request_duration_seconds_count{route="/health",method="GET"} 2',
      'pmctl_trades_total{result="market_closed"} 1',
      "pmctl_sequencer_queue_length 7",
      'pmctl_sequencer_batch_commands_bucket{le="4"} 1',
    ])
      expect(lines).toContain(line);
    expect(lines.filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("pmctl_"))).toEqual([]);
    expect(lines.join("\n")).not.toContain("secret-id");
    const types = lines.filter((line) => line.startsWith("# TYPE"));
    expect(new Set(types).size).toBe(types.length);
    await server.close();
  });
});

test("a trade counts once in the metrics, however often its request is repeated", async () => {
  const asked = new Set<string | undefined>();
  const placeTrade = async (_input: unknown, { idempotency }: Caller) => {
    const replayed = asked.has(idempotency?.key);
    asked.add(idempotency?.key);
    return new Answered("{}", replayed);
  };
  const server = await serve(backend, { ...handlers, placeTrade } as unknown as Handlers);
  const headers = { "x-api-key": PUBLIC_KEY, "content-type": "application/json", "idempotency-key": "k" };
  const authorization = `Bearer ${await userToken()}`;
  const body = JSON.stringify({ marketId: "m", selection: { side: "yes" }, amount: 1 });
  for (let time = 0; time < 6; time++)
    await fetch(`${server.url}/v1/trade`, { method: "POST", body, headers: { ...headers, authorization } });
  const shown = await (await fetch(`${server.opsUrl}/metrics`)).text();
  expect(shown.split("\n").filter((line) => line.startsWith("pmctl_trades_total"))).toEqual([
    'pmctl_trades_total{result="filled"} 1',
    'pmctl_trades_total{result="replayed"} 5',
  ]);
  await server.close();
});

describe("API keys", () => {
  test("are taken up and dropped within a second, in a process that knew nothing of it", async () => {
    const server = await serve(backend, handlers);
    const send = (key: string) => fetch(`${server.url}/v1/markets/trending`, { headers: { "x-api-key": key } });
    expect((await send(PUBLIC_KEY)).status).toBe(200);
    await insertKey(backend.sql, "pk_new", "new", "public");
    await delay(1050);
    expect((await send("pk_new")).status).toBe(200);
    // The row alone ends nothing: the log says that the key is in force, until an entry says that it has ended.
    await backend.sql`delete from api_key where name = 'new'`;
    await insertKey(backend.sql, "pk_new", "new", "public", 1);
    await delay(1050);
    await expectRefusal(await send("pk_new"), 401, "KEY_INVALID");
    await server.close();
  });

  test("expire on the second, without a look at the database", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const expiresAt = Date.now() + 60_000;
    await insertKey(backend.sql, "pk_short", "short", "public", expiresAt);
    const server = await serve(backend, handlers);
    const send = () => fetch(`${server.url}/v1/markets/trending`, { headers: { "x-api-key": "pk_short" } });
    vi.setSystemTime(expiresAt - 1);
    expect((await send()).status).toBe(200);
    vi.setSystemTime(expiresAt);
    await expectRefusal(await send(), 401, "KEY_INVALID");
    await server.close();
  });

  test("are not trusted for ever when the database is away, and health still answers", async () => {
    const lost = await openBackend();
    const server = await serve(lost, handlers, PRODUCTION);
    const send = () => fetch(`${server.url}/v1/markets/trending`, { headers: { "x-api-key": ADMIN_KEY } });
    expect((await send()).status).toBe(200);
    await lost.database.drop();
    await delay(1100);
    await expectRefusal(await send(), 500, "DATABASE_UNAVAILABLE");
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    await server.close();
    await lost.sql.end({ timeout: 0 });
  });
});
