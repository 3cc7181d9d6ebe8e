import { afterEach, describe, expect, test } from "vitest";
import type { RunningServer } from "../../src/server/server.ts";
import type { TenantOptions } from "../../src/server/tenant-options.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { backendOfTests } from "./support/during-tests.ts";
import { PUBLIC_KEY, serve } from "./support/harness.ts";
import { expectCommonHeaders, expectRefusal, parseRaw } from "./support/requests.ts";
import { type Client, HEALTH, open } from "./support/sockets.ts";
import { serveTenant } from "./support/tenant.ts";

let release: (() => void)[] = [];
let health = 0;
const handlers = {
  getHealth: async () => {
    health += 1;
    return { ok: true, service: "acme", db: true, uptimeSec: 1 };
  },
  listTrendingMarkets: () => new Promise((resolve) => release.push(() => resolve([]))),
} as unknown as Handlers;
const BUSY = `GET /v1/markets/trending HTTP/1.1\r\nhost: x\r\nx-api-key: ${PUBLIC_KEY}\r\n\r\n`;

const backend = backendOfTests();
let server: RunningServer;
const refused: [reason: string, address: string][] = [];
const clients: Client[] = [];
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  for (const each of release.splice(0)) each();
  await server.close();
});

async function serveWith(options: Partial<TenantOptions> = {}): Promise<void> {
  refused.length = 0;
  release = [];
  health = 0;
  await backend.sql`truncate request_count`;
  server = await serve(backend, handlers, {
    onRefused: (reason, address) => refused.push([reason, address]),
    ...options,
  });
}

async function client(from: string, first?: string): Promise<Client> {
  const opened = await open(server.port, from, first);
  clients.push(opened);
  return opened;
}

const statuses = (one: Client) =>
  [...one.received().matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));

describe("requests sent at once on one connection", () => {
  test("are served one after the other, each when the answer ahead of it is written", async () => {
    await serveWith();
    const ahead = await client("127.0.0.2", BUSY + HEALTH + HEALTH);
    await expect.poll(() => release.length).toBe(1);
    const other = await client("127.0.0.3", HEALTH);
    await expect.poll(() => statuses(other)).toEqual([200]);
    expect(health).toBe(1);
    release[0]?.();
    await expect.poll(() => statuses(ahead)).toEqual([200, 200, 200]);
    expect(refused).toEqual([]);
  });

  test("end with the one that says `Connection: close`: it is answered behind those ahead, and what follows is ignored", async () => {
    await serveWith();
    const last = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    const ahead = await client("127.0.0.2", BUSY + HEALTH + last + HEALTH);
    await expect.poll(() => release.length).toBe(1);
    ahead.socket.write(HEALTH.repeat(1000));
    release[0]?.();
    await ahead.end;
    expect(statuses(ahead)).toEqual([200, 200, 200]);
    expect([health, refused]).toEqual([2, []]);
  });

  test("are not served behind the third 429", async () => {
    await serveWith({ rateLimit: { perMinute: 2 } });
    // An address of its own: the server before may still be counting what others sent.
    const flood = await client("127.0.0.4", HEALTH.repeat(50));
    await flood.end;
    expect(statuses(flood)).toEqual([200, 200, 429, 429, 429]);
    expect(refused).toEqual([["rate", "127.0.0.4"]]);
  });

  test("end it when they are more than a hundred ahead of their answers, once those that came before are answered", async () => {
    await serveWith({ rateLimit: { perMinute: 1000 } });
    const kept = await client("127.0.0.3", BUSY + HEALTH.repeat(100));
    const flood = await client("127.0.0.2", BUSY + HEALTH.repeat(5000));
    await expect.poll(() => refused).toEqual([["rate", "127.0.0.2"]]);
    await expect.poll(() => release.length).toBe(2);
    expect([health, flood.closed()]).toEqual([0, false]);
    for (const each of release.splice(0)) each();
    await flood.end;
    await expect.poll(() => statuses(kept)).toHaveLength(101);
    expect([statuses(flood), kept.closed(), refused.length]).toEqual([Array(101).fill(200), false, 1]);
  });

  test("are answered although the client has ended its side, and then the connection ends", async () => {
    await serveWith();
    const ending = await client("127.0.0.2", BUSY + HEALTH);
    ending.socket.end();
    await expect.poll(() => release.length).toBe(1);
    release[0]?.();
    await ending.end;
    expect(statuses(ending)).toEqual([200, 200]);
  });

  test("that are refused unread wait for the answers ahead as well, and nothing behind them is served", async () => {
    await serveWith();
    const refusedLater = [
      "GET /health HTTP/1.1\r\nhost: x\r\nexpect: magic\r\n\r\n",
      "GET /../{x} HTTP/1.1\r\nhost: a:99999\r\n\r\n",
      "CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n",
    ];
    const all = await Promise.all(refusedLater.map((bytes) => client("127.0.0.2", BUSY + bytes + HEALTH)));
    await expect.poll(() => release.length).toBe(3);
    for (const each of release.splice(0)) each();
    await Promise.all(all.map(({ end }) => end));
    expect([all.map(statuses), health]).toEqual([[[200, 417], [200, 400], [200]], 0]);
  });
});

describe("a request whose head proxies may read in another way", () => {
  test.each([
    ["no host", ""],
    ["two hosts", "host: a\r\nhost: b\r\n"],
    ["a host that is none", "host: a/b\r\n"],
    ["a port that is none", "host: a:99999\r\n"],
    ["a coding before chunked", "host: a\r\ntransfer-encoding: identity, chunked\r\n"],
  ])("with %s is counted, costs its connection, and nothing behind it is served", async (_name, headers) => {
    await serveWith({ rateLimit: { perMinute: 2 } });
    for (const path of ["/../{x}", "/health"]) {
      const one = await client("127.0.0.2", `GET ${path} HTTP/1.1\r\n${headers}\r\n${HEALTH.repeat(5)}`);
      await one.end;
      // A host that only h3 refuses is as good as any where no URL has to be resolved.
      if (path === "/health" && headers.includes(":99999")) continue;
      expect(statuses(one)).toEqual([400]);
      const answer = parseRaw(one.received());
      expectCommonHeaders(answer.headers);
      await expectRefusal(answer, 400, "BAD_REQUEST");
    }
    expect(refused).toContainEqual(["malformed", "127.0.0.2"]);
    const after = await client("127.0.0.2", HEALTH);
    await expect.poll(() => statuses(after)).toEqual([429]);
  });
});

test("of streams asked for at once on one connection one is opened, and its end frees its seat", async () => {
  const tenant = await serveTenant();
  const streams = async () =>
    Number(/^pmctl_streams (\d+)$/m.exec(await (await fetch(`${tenant.server.opsUrl}/metrics`)).text())?.[1]);
  const request = `GET /v1/stream HTTP/1.1\r\nhost: x\r\nx-api-key: ${PUBLIC_KEY}\r\n\r\n`;
  const one = await open(tenant.server.port, "127.0.0.2", request.repeat(50));
  await expect.poll(one.received).toContain("event: snapshot");
  expect([await streams(), statuses(one)]).toEqual([1, [200]]);
  one.socket.destroy();
  await expect.poll(streams).toBe(0);
  await tenant.close();
});
