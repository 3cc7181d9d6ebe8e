import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { connect } from "../../src/postgres/connect.ts";
import type { RunningServer } from "../../src/server/server.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { poolOf } from "../support/pool.ts";
import { backendOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, insertKey, PUBLIC_KEY, serve, sha256, WEBHOOK_SECRET } from "./support/harness.ts";
import { exchangeRaw, expectRefusal } from "./support/requests.ts";

const handlers = {
  getHealth: async () => ({ ok: true, service: "acme", db: true, uptimeSec: 1 }),
  receivePayment: async () => ({ received: true }),
} as unknown as Handlers;

const backend = backendOfTests();

/** Every test is the first to count. */
async function fresh(perMinute: number, options: object = {}): Promise<RunningServer> {
  await backend.sql`truncate request_count`;
  return serve(backend, handlers, { rateLimit: { perMinute }, ...options });
}

const statuses = async (responses: Promise<Response>[]) => (await Promise.all(responses)).map(({ status }) => status);
const count = (all: number[], status: number) => all.filter((one) => one === status).length;

describe("one server", () => {
  test("lets exactly 20 of 25 requests pass, and tells each where it stands", async () => {
    const server = await fresh(20);
    const remaining: string[] = [];
    for (let n = 0; n < 25; n += 1) {
      const response = await fetch(`${server.url}/health`);
      expect(response.status).toBe(n < 20 ? 200 : 429);
      remaining.push(response.headers.get("ratelimit-remaining") ?? "");
      const reset = Number(response.headers.get("ratelimit-reset"));
      expect(Number.isInteger(reset) && reset >= 1 && reset <= 60).toBe(true);
      expect(response.headers.get("ratelimit-limit")).toBe("20");
      if (n < 20) continue;
      expect(response.headers.get("retry-after")).toBe(response.headers.get("ratelimit-reset"));
      await expectRefusal(response, 429, "RATE_LIMITED");
    }
    expect(remaining.map(Number)).toEqual([...Array.from({ length: 20 }, (_, n) => 19 - n), 0, 0, 0, 0, 0]);
    await server.close();
  });

  test("counts every request before it looks at its path, key or body", async () => {
    const server = await fresh(5);
    const headers = { "x-api-key": "wrong" };
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
    expect((await fetch(`${server.url}/v1/markets`, { headers })).status).toBe(404);
    expect((await fetch(`${server.url}/openapi.json`)).status).toBe(200);
    expect((await fetch(`${server.url}/payments/inbound/acme`, { method: "POST", body: "{}" })).status).toBe(401);
    expect((await fetch(`${server.url}/health`, { method: "HEAD" })).status).toBe(200);
    for (const path of ["/health", "/nothing", "/payments/inbound/acme"])
      await expectRefusal(
        await fetch(server.url + path, { method: path.startsWith("/p") ? "POST" : "GET" }),
        429,
        "RATE_LIMITED",
      );
    await server.close();
  });

  test("does not count preflights, nor the operations listener", async () => {
    const server = await fresh(2);
    for (let n = 0; n < 10; n += 1) {
      expect((await fetch(`${server.url}/health`, { method: "OPTIONS" })).status).toBe(204);
      expect((await fetch(`${server.opsUrl}/livez`)).status).toBe(200);
    }
    expect(await statuses([1, 2, 3].map(() => fetch(`${server.url}/health`)))).toContain(429);
    await server.close();
  });

  test("opens a new window when the old one ends", async () => {
    const server = await fresh(2);
    const retryAfter = async ({ url }: RunningServer) =>
      Number((await fetch(`${url}/health`)).headers.get("retry-after"));
    expect(await statuses([1, 2].map(() => fetch(`${server.url}/health`)))).toEqual([200, 200]);
    await server.close();
    await backend.sql`update request_count set window_start = window_start - 30000`;
    const late = await serve(backend, handlers, { rateLimit: { perMinute: 2 } });
    const rest = await retryAfter(late);
    expect(rest).toBeGreaterThan(0);
    expect(rest).toBeLessThanOrEqual(30);
    await late.close();
    await backend.sql`update request_count set window_start = window_start - 30000`;
    const next = await serve(backend, handlers, { rateLimit: { perMinute: 2 } });
    expect(await statuses([1, 2].map(() => fetch(`${next.url}/health`)))).toEqual([200, 200]);
    expect(await retryAfter(next)).toBeGreaterThan(0);
    await next.close();
  });
});

test("three servers share one count: of 3N parallel requests exactly N pass", async () => {
  const another = () => serve(backend, handlers, { rateLimit: { perMinute: 50 } });
  const servers = [await fresh(50), await another(), await another()];
  const all = await statuses(Array.from({ length: 150 }, (_, n) => fetch(`${servers[n % 3]?.url}/health`)));
  expect([count(all, 200), count(all, 429)]).toEqual([50, 100]);
  await Promise.all(servers.map((server) => server.close()));
});

describe("X-Forwarded-For", () => {
  const from = (server: RunningServer, forwarded: string) =>
    fetch(`${server.url}/health`, { headers: { "x-forwarded-for": forwarded } });

  test("buys no second window from a client that we do not trust", async () => {
    const server = await fresh(20);
    const all = await statuses(Array.from({ length: 25 }, (_, n) => from(server, `203.0.113.${n}`)));
    expect([count(all, 200), count(all, 429)]).toEqual([20, 5]);
    await server.close();
  });

  test("tells clients apart behind a trusted proxy, by what the proxy wrote", async () => {
    const server = await fresh(2, { trustProxy: ["127.0.0.0/8"] });
    for (const client of ["203.0.113.1", "203.0.113.2"])
      expect(await statuses([1, 2].map((n) => from(server, `10.0.0.${n}, ${client}`)))).toEqual([200, 200]);
    expect((await from(server, "203.0.113.9, 203.0.113.1")).status).toBe(429);
    expect((await from(server, "2001:db8:1:2::1")).status).toBe(200);
    expect((await from(server, "2001:db8:1:2:ffff::1")).status).toBe(200);
    expect((await from(server, "2001:db8:1:2:aaaa::1")).status).toBe(429);
    expect((await from(server, "2001:db8:1:3::1")).status).toBe(200);
    await server.close();
  });

  test("sent as two headers counts from the last", async () => {
    const server = await fresh(1, { trustProxy: ["127.0.0.0/8"] });
    const send = (spoofed: string) =>
      exchangeRaw(
        server.port,
        `GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-forwarded-for: ${spoofed}\r\nx-forwarded-for: 203.0.113.1\r\n\r\n`,
      );
    expect(await send("1.1.1.1")).toMatch(/^HTTP\/1.1 200/);
    expect(await send("1.1.1.2")).toMatch(/^HTTP\/1.1 429/);
    await server.close();
  });
});

describe("signed webhooks with a bucket of their own", () => {
  const body = '{"event":"x"}';
  const signature = createHmac("sha256", WEBHOOK_SECRET).update(body).digest("hex");
  const send = (server: RunningServer, signed: string) =>
    fetch(`${server.url}/payments/inbound/acme`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", "x-signature": signed },
    });

  test("pass when the address has used up its window, up to their own limit", async () => {
    const server = await fresh(2, { rateLimit: { perMinute: 2, webhooksPerMinute: 3 } });
    expect(await statuses([1, 2, 3].map(() => fetch(`${server.url}/health`)))).toContain(429);
    // Each request has a connection of its own, so any of them may arrive last.
    const all = await statuses([1, 2, 3, 4].map(() => send(server, signature)));
    expect([count(all, 200), count(all, 429)]).toEqual([3, 1]);
    await expectRefusal(await send(server, sha256("forged")), 429, "RATE_LIMITED");
    await server.close();
  });

  test("and forged ones use up the address's window, not theirs", async () => {
    const server = await fresh(2, { rateLimit: { perMinute: 2, webhooksPerMinute: 1 } });
    for (let n = 0; n < 2; n += 1) await expectRefusal(await send(server, sha256("x")), 401, "SIGNATURE_INVALID");
    await expectRefusal(await send(server, sha256("x")), 429, "RATE_LIMITED");
    expect((await send(server, signature)).status).toBe(200);
    await server.close();
  });
});

describe("without the database", () => {
  test("the limit still holds, counted by the process alone", async () => {
    const nowhere = connect({ host: "127.0.0.1", port: 1, user: "x", database: "x" }, { name: "test", max: 1 });
    const server = await serve({ ...backend, pool: poolOf(nowhere) }, handlers, { rateLimit: { perMinute: 20 } });
    const all = await statuses(Array.from({ length: 25 }, () => fetch(`${server.url}/health`)));
    expect([count(all, 200), count(all, 429)]).toEqual([20, 5]);
    await server.close();
    await nowhere.end({ timeout: 0 });
  });
});

describe("admin keys with a bucket of their own", () => {
  const ask = (server: RunningServer, key: string) =>
    fetch(`${server.url}/health`, { headers: { "x-api-key": key, connection: "close" } });

  test("pass when traders have used up their address's window, each up to its own limit", async () => {
    const second = "sk_second-0123456789-abcdefghijklmnopqrstuvwxyz";
    await insertKey(backend.sql, second, "second", "admin");
    const server = await fresh(2, { rateLimit: { perMinute: 2, adminPerMinute: 3 } });
    // The last of these is the first that the server learns of any key.
    expect(await statuses([PUBLIC_KEY, "forged", PUBLIC_KEY].map((key) => ask(server, key)))).toContain(429);
    const all = await statuses([1, 2, 3, 4].map(() => ask(server, ADMIN_KEY)));
    expect([count(all, 200), count(all, 429)]).toEqual([3, 1]);
    const refused = await ask(server, ADMIN_KEY);
    expect(refused.headers.get("ratelimit-limit")).toBe("3");
    await expectRefusal(refused, 429, "RATE_LIMITED");
    expect((await ask(server, second)).status).toBe(200);
    await server.close();
  });

  test("leave the address's window to traders, and forged or foreign keys count in it", async () => {
    const away = "sk_away-0123456789-abcdefghijklmnopqrstuvwxyz00";
    await insertKey(backend.sql, away, "away", "admin", null, { from: ["203.0.113.0/24"] });
    const server = await fresh(2, { rateLimit: { perMinute: 2, adminPerMinute: 3 } });
    for (let n = 0; n < 3; n += 1) expect((await ask(server, ADMIN_KEY)).status).toBe(200);
    for (const key of ["sk_forged", away]) expect((await ask(server, key)).headers.get("ratelimit-limit")).toBe("2");
    await expectRefusal(await ask(server, PUBLIC_KEY), 429, "RATE_LIMITED");
    await server.close();
  });
});

test("keys do not matter unless admin keys have a limit: an admin is limited like anybody", async () => {
  const server = await fresh(1);
  const headers = { "x-api-key": ADMIN_KEY };
  expect((await fetch(`${server.url}/health`, { headers: { "x-api-key": PUBLIC_KEY } })).status).toBe(200);
  expect((await fetch(`${server.url}/health`, { headers })).status).toBe(429);
  await server.close();
});
