import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { pino } from "pino";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { RunningServer } from "../../src/server/server.ts";
import type { TenantOptions } from "../../src/server/tenant-options.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { makePair } from "../support/certificates.ts";
import { backendOfTests } from "./support/during-tests.ts";
import { PUBLIC_KEY, serve } from "./support/harness.ts";
import { expectRefusal, parseRaw } from "./support/requests.ts";
import { type Client, HEALTH, open } from "./support/sockets.ts";

let release: (() => void)[] = [];
const LARGE = "x".repeat(16 * 1024 * 1024);
const health = { ok: true, service: "acme", db: true, uptimeSec: 1 };
let isLarge = false;
const handlers = {
  /** At times an answer that no system's buffers hold. */
  getHealth: async () => (isLarge ? { ...health, service: LARGE } : health),
  receivePayment: async () => ({ received: true }),
  placeTrade: async () => ({}),
  /** Held until the test lets it go. */
  listTrendingMarkets: () => new Promise((resolve) => release.push(() => resolve([]))),
} as unknown as Handlers;
const BUSY = `GET /v1/markets/trending HTTP/1.1\r\nhost: x\r\nx-api-key: ${PUBLIC_KEY}\r\n\r\n`;

const backend = backendOfTests();
let server: RunningServer;
const refused: [reason: string, address: string][] = [];
const lines: Record<string, unknown>[] = [];
const clients: Client[] = [];
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  for (const each of release.splice(0)) each();
  await server?.close();
});

async function serveWith(limits: TenantOptions["limits"], options: Partial<TenantOptions> = {}): Promise<void> {
  refused.length = 0;
  lines.length = 0;
  release = [];
  await backend.sql`truncate request_count`;
  server = await serve(backend, handlers, {
    limits,
    onRefused: (reason, address) => refused.push([reason, address]),
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    ...options,
  });
}

async function client(from?: string, first?: string): Promise<Client> {
  const opened = await open(server.port, from, first);
  clients.push(opened);
  return opened;
}

const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${server.opsUrl}/metrics`)).text();
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1),
  );
};
const answered = (one: Client) => expect.poll(() => one.received()).toContain('"ok":true');

describe("the number of connections", () => {
  test("of one address is limited, others are let in, and a trusted proxy is no client", async () => {
    await serveWith({ connectionsPerAddress: 3 }, { trustProxy: ["127.0.0.9/32"] });
    const kept = await Promise.all([1, 2, 3].map(() => client("127.0.0.2", HEALTH)));
    for (const one of kept) await answered(one);
    const beyond = await client("127.0.0.2", HEALTH);
    await beyond.end;
    expect([beyond.received(), refused]).toEqual(["", [["address", "127.0.0.2"]]]);
    for (const proxied of await Promise.all([1, 2, 3, 4, 5].map(() => client("127.0.0.9", HEALTH))))
      await answered(proxied);
    await answered(await client("127.0.0.3", HEALTH));
    expect(kept.map(({ closed }) => closed())).toEqual([false, false, false]);
    kept[0]?.socket.destroy();
    await expect.poll(() => metric('pmctl_connections{listener="api"}')).toBe(8);
    await answered(await client("127.0.0.2", HEALTH));
    expect(await metric('pmctl_connections_refused_total{reason="address"}')).toBe(1);
    expect(await metric('pmctl_connections_refused_total{reason="total"}')).toBe(0);
    expect(await metric('pmctl_connections{listener="ops"}')).toBeGreaterThanOrEqual(1);
  });

  test("is limited in all: the longest idle one of the address with most makes room, those under way stay", async () => {
    await serveWith({ connections: 4 });
    const busy = await client("127.0.0.2", BUSY);
    await expect.poll(() => release.length).toBe(1);
    const older = await client("127.0.0.2", HEALTH);
    await answered(older);
    const younger = await client("127.0.0.2");
    const single = await client("127.0.0.3");
    // The older one was idle first, and is so again last.
    older.socket.write(HEALTH);
    await expect.poll(() => older.received().split('"ok":true').length).toBe(3);
    await answered(await client("127.0.0.4", HEALTH));
    await younger.end;
    expect([busy, older, single].map(({ closed }) => closed())).toEqual([false, false, false]);
    expect(refused).toEqual([["total", "127.0.0.2"]]);
    release[0]?.();
    await expect.poll(() => busy.received()).toContain("200 OK");
  });

  test("has no room where all of the address with most are under way: the new one is closed at once", async () => {
    await serveWith({ connections: 2 });
    await Promise.all([client("127.0.0.2", BUSY), client("127.0.0.2", BUSY)]);
    await expect.poll(() => release.length).toBe(2);
    const beyond = await client("127.0.0.3", HEALTH);
    await beyond.end;
    expect([beyond.received(), refused]).toEqual(["", [["total", "127.0.0.3"]]]);
    expect((await fetch(`${server.opsUrl}/livez`)).status).toBe(200);
  });

  test("counts IPv6 clients by their /64, as the rate limit does", async () => {
    await serveWith({ connectionsPerAddress: 1 });
    await answered(await client("127.0.0.2", HEALTH));
    const mapped = connect({ port: server.port, host: "::ffff:127.0.0.1", localAddress: "::ffff:127.0.0.2" });
    mapped.on("error", () => {});
    await once(mapped, "close");
    expect(refused).toEqual([["address", "127.0.0.2"]]);
  });
});

describe("the times of a connection", () => {
  const SHORT = { headersSeconds: 0.4, bodySeconds: 0.4, idleSeconds: 0.4, writeSeconds: 0.4 };
  const reasons = () => refused.map(([reason]) => reason);

  test("silence, and headers that do not end, cost it after headersSeconds", async () => {
    await serveWith({ ...SHORT, idleSeconds: 60 });
    const all = await Promise.all([client(), client("127.0.0.2", "GET /health HTTP/1.1\r\nx: "), client()]);
    await Promise.all(all.map(({ end }) => end));
    expect(reasons()).toEqual(["headers", "headers", "headers"]);
    await expectRefusal(parseRaw(all[1]?.received() ?? ""), 408, "BAD_REQUEST");
    const second = await client("127.0.0.2", `${HEALTH}GET /health HT`);
    await second.end;
    expect(second.received()).toMatch(/^HTTP\/1.1 200 OK/);
    expect(second.received()).toContain("HTTP/1.1 408 ");
  });

  test("a TLS handshake, and what comes before the first request over TLS, count from its opening", async () => {
    const pair = await makePair();
    await backend.sql`truncate request_count`;
    refused.length = 0;
    server = await serve(
      backend,
      handlers,
      { limits: SHORT, onRefused: (reason, address) => refused.push([reason, address]) },
      { keyPair: pair },
    );
    const silent = await client();
    const secured = connectTls({ port: server.port, host: "127.0.0.1", ca: [pair.cert] });
    secured.on("error", () => {});
    await once(secured, "secureConnect");
    await Promise.all([silent.end, once(secured.resume(), "close")]);
    expect(refused).toEqual([
      ["headers", "127.0.0.1"],
      ["headers", "127.0.0.1"],
    ]);
  });

  test("a body that does not end costs it after bodySeconds", async () => {
    await serveWith({ ...SHORT, headersSeconds: 60 });
    const slow = await client(
      "127.0.0.2",
      "POST /payments/inbound/acme HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{",
    );
    await slow.end;
    await expectRefusal(parseRaw(slow.received()), 408, "BAD_REQUEST");
    expect(refused).toEqual([["body", "127.0.0.2"]]);
  });

  test("nothing after an answer costs it after idleSeconds, and so do empty lines", async () => {
    await serveWith({ ...SHORT, headersSeconds: 0.5 });
    const silent = await client("127.0.0.2", HEALTH);
    const dripping = await client("127.0.0.3", HEALTH);
    const drip = setInterval(() => dripping.socket.write("\r\n"), 50);
    await Promise.all([silent.end, dripping.end]);
    clearInterval(drip);
    expect(refused.sort()).toEqual([
      ["idle", "127.0.0.2"],
      ["idle", "127.0.0.3"],
    ]);
  });

  test("taking nothing of an answer costs it after writeSeconds; taking it slowly does not", async () => {
    await serveWith({ ...SHORT, headersSeconds: 60, bodySeconds: 60, idleSeconds: 60 });
    isLarge = true;
    onTestFinished(() => {
      isLarge = false;
    });
    const unread = await client("127.0.0.2");
    unread.socket.pause();
    unread.socket.write(HEALTH);
    const slow = await client("127.0.0.3");
    slow.socket.pause();
    slow.socket.write(HEALTH);
    const takeMebibyte = () =>
      new Promise<void>((resolve) => {
        let taken = 0;
        const onData = (chunk: Buffer) => {
          taken += chunk.length;
          if (taken < 1024 * 1024) return;
          slow.socket.pause().off("data", onData);
          resolve();
        };
        slow.socket.on("data", onData).resume();
      });
    // The server's clock moves with what is taken: a quarter of writeSeconds for each mebibyte, four times writeSeconds for all.
    let now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => void vi.restoreAllMocks());
    while (slow.received().length < LARGE.length - 2 * 1024 * 1024) {
      await takeMebibyte();
      now += 100;
    }
    slow.socket.resume();
    await expect.poll(() => slow.received().length).toBeGreaterThan(LARGE.length);
    await expect
      .poll(() => {
        now += 100;
        return refused;
      })
      .toEqual([["write", "127.0.0.2"]]);
    expect(refused).toEqual([["write", "127.0.0.2"]]);
  });
});

describe("a refused client", () => {
  test("loses its connection with the third 429", async () => {
    await serveWith({}, { rateLimit: { perMinute: 1 } });
    const flood = await client("127.0.0.2");
    for (let n = 1; n <= 4; n += 1) {
      flood.socket.write(HEALTH);
      await expect.poll(() => flood.received().split("HTTP/1.1 ").length).toBe(n + 1);
      expect(flood.received().includes("connection: close")).toBe(n === 4);
    }
    await flood.end;
    expect(refused).toEqual([["rate", "127.0.0.2"]]);
  });

  test("is read no further: its answer comes while the body is outstanding, and the connection ends", async () => {
    await serveWith({});
    const head =
      "POST /v1/trade HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9000000000\r\n\r\n";
    const endless = await client("127.0.0.2", head);
    let sent = 0;
    const chunk = "x".repeat(64 * 1024);
    const pump = setInterval(() => {
      while (sent < 64 * 1024 * 1024 && endless.socket.write(chunk)) sent += chunk.length;
    }, 5);
    await endless.end;
    clearInterval(pump);
    await expectRefusal(parseRaw(endless.received()), 401, "KEY_INVALID");
    expect(parseRaw(endless.received()).headers.get("connection")).toBe("close");
    // What the system's buffers of both ends take, and no more.
    expect(endless.socket.bytesWritten - endless.socket.writableLength).toBeLessThan(24 * 1024 * 1024);
  });

  test("loses its connection although it does not end its side, whatever it was refused for", async () => {
    await serveWith({});
    for (const bytes of [
      "CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n",
      "GET /health HTTP/1.1\r\nhost: x\r\nexpect: magic\r\n\r\n",
      "GET /../{x} HTTP/1.1\r\nhost: a:99999\r\n\r\n",
      "rubbish\r\n\r\n",
      "POST /health HTTP/1.1\r\ncontent-length: 9\r\n\r\n",
    ]) {
      const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
      socket.on("error", () => {}).write(bytes);
      await once(socket.resume(), "end");
      onTestFinished(() => void socket.destroy());
    }
    await expect.poll(() => metric('pmctl_connections{listener="api"}')).toBe(0);
  });

  test("keeps its connection where the whole body is there", async () => {
    await serveWith({});
    const post = "POST /v1/trade HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    const kept = await client("127.0.0.2", post);
    await expect.poll(() => kept.received()).toContain("401 Unauthorized");
    kept.socket.write(HEALTH);
    await answered(kept);
  });
});

describe("what is counted", () => {
  test("bytes that are no request count as requests of their address", async () => {
    await serveWith({}, { rateLimit: { perMinute: 2 } });
    for (const bytes of ["rubbish\r\n\r\n", "CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n"])
      await (await client("127.0.0.2", bytes)).end;
    expect(refused).toEqual([
      ["malformed", "127.0.0.2"],
      ["malformed", "127.0.0.2"],
    ]);
    const after = await client("127.0.0.2", HEALTH);
    await expect.poll(() => after.received()).toContain("429 Too Many Requests");
    await answered(await client("127.0.0.3", HEALTH));
    expect(await metric('pmctl_connections_refused_total{reason="malformed"}')).toBe(2);
  });

  test("preflights have a count of their own, ten times as large", async () => {
    await serveWith({}, { rateLimit: { perMinute: 2 } });
    const preflight = () => fetch(`${server.url}/health`, { method: "OPTIONS" });
    for (let n = 0; n < 20; n += 1) expect((await preflight()).status).toBe(204);
    await expectRefusal(await preflight(), 429, "RATE_LIMITED");
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });

  test("a line of the log says which limit, how often and to whom, soon and then once a minute", async () => {
    await serveWith({ connectionsPerAddress: 1 });
    const refusals = () => lines.filter(({ event }) => event === "connections.refused");
    await answered(await client("127.0.0.2", HEALTH));
    await answered(await client("127.0.0.3", HEALTH));
    for (const from of ["127.0.0.2", "127.0.0.3", "127.0.0.2"]) await (await client(from)).end;
    await expect.poll(refusals).toHaveLength(1);
    const expected = { reason: "address", count: 3, addresses: ["127.0.0.2", "127.0.0.3"] };
    expect(refusals()).toEqual([expect.objectContaining(expected)]);
    await (await client("127.0.0.3")).end;
    await server.close();
    expect(refusals().slice(1)).toEqual([expect.objectContaining({ count: 1, addresses: ["127.0.0.3"] })]);
  });
});
