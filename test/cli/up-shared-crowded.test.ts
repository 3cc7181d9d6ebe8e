import { once } from "node:events";
import { appendFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { serverLogin } from "../../src/postgres/embedded/settings.ts";
import {
  closeAll,
  closingMarket,
  directoryWith,
  ended,
  hostOf,
  isClosingRecorded,
  open,
  operator,
  secrets,
  sessionsOf,
} from "./support/shared-server.ts";

describe("more tenants than connections", () => {
  const MANY = Array.from({ length: 10 }, (_, index) => `many${index}`);
  const sockets: Socket[] = [];
  beforeAll(() => directoryWith(...MANY, "further"));
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await closeAll();
  });

  const send = (port: number, text: string) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {}).write(text);
    return socket;
  };
  /** A tenant that is still being opened refuses a stream for now, and otherwise once its opening takes longer than it may. */
  async function openStream(port: number, tenant: string): Promise<Socket> {
    const key = secrets[`${tenant.toUpperCase()}_PUBLIC_KEY`];
    for (;;) {
      const socket = send(port, `GET /v1/stream HTTP/1.1\r\nhost: ${hostOf(tenant)}\r\nx-api-key: ${key}\r\n\r\n`);
      const [head] = await once(socket, "data");
      if (String(head).startsWith("HTTP/1.1 200 ")) return socket.resume();
      expect(String(head)).toMatch(/^HTTP\/1\.1 50[03] [\s\S]*\r\nerror-code: (OVERLOADED|DATABASE_UNAVAILABLE)\r\n/i);
      socket.destroy();
    }
  }
  async function openUnread(port: number, tenant: string): Promise<Socket> {
    const head = `POST /v1/trade HTTP/1.1\r\nhost: ${hostOf(tenant)}\r\ncontent-type: application/json\r\n`;
    const socket = send(port, `${head}content-length: 5000\r\n\r\n{`).resume();
    await once(socket, "connect");
    return socket;
  }

  test("ten, then fifty open streams and unread bodies keep no further tenant from answering, nor its due closing", async () => {
    const { port, answers, ops, child } = await open("--connections", "8", "--idle-seconds", "2");
    for (let times = 0; times < 5; times++) {
      for (const [index, tenant] of MANY.entries()) {
        sockets.push(await ((index + times) % 2 === 0 ? openStream(port, tenant) : openUnread(port, tenant)));
      }
      if (times === 0) await answers(hostOf("further"));
    }
    expect(sockets).toHaveLength(50);
    await answers(hostOf("further"));
    expect((await sessionsOf("further", ...MANY)).length).toBeLessThanOrEqual(8);
    const { id } = await closingMarket("further");
    await vi.waitFor(async () => expect(await isClosingRecorded("further", id)).toBe(true), {
      timeout: 60_000,
      interval: 500,
    });
    expect(await ops("/readyz")).toMatchObject([
      200,
      { ok: true, connections: [{ count: 8, waiting: expect.any(Number), longestWaitMs: expect.any(Number) }] },
    ]);
    expect((await ops("/metrics"))[1]).toMatch(/^pmctl_database_waiting\{server="\S+"\} \d+$/m);
    // The streams went on meanwhile.
    for (const socket of sockets.filter((_, index) => (index + Math.floor(index / 10)) % 2 === 0))
      expect(socket.destroyed).toBe(false);
    for (const socket of sockets) socket.destroy();
    expect(await ended(child)).toBe(0);
  });

  test("databases that hang refuse their own tenants' requests in two seconds and delay the opening of others by one deadline, due work by none", async () => {
    const HANGING = MANY.slice(0, 6);
    const database = await hangingDatabase(HANGING);
    const { ask, answers, ops, tenants, child } = await open("--idle-seconds", "2");
    const all = (names: readonly string[]) => Promise.all(names.map((tenant) => ask(hostOf(tenant))));
    try {
      // Cold and all at once, and each request is answered or told to come again.
      const cold = await all([...HANGING, "further"]);
      for (const answer of cold) expect([200, 503]).toContain(answer.status);
      await vi.waitFor(async () => expect((await all(HANGING)).every(({ status }) => status === 200)).toBe(true), {
        timeout: 60_000,
        interval: 250,
      });
      await vi.waitFor(async () => expect((await tenants()).every(({ state }) => state === "idle")).toBe(true), {
        timeout: 60_000,
        interval: 250,
      });
      const { id } = await closingMarket("many9");
      database.hangs(true);
      const startedAt = performance.now();
      const refused = all(HANGING);
      const waits = { ok: true, openings: { running: 4, waiting: 2, requests: 6 } };
      await vi.waitFor(async () => expect((await ops("/readyz"))[1]).toMatchObject(waits), { timeout: 1900 });
      const [, metrics] = await ops("/metrics");
      expect(metrics).toContain('pmctl_openings{state="waiting"} 2\n');
      expect(metrics).toContain("pmctl_opening_requests_waiting 6\n");
      expect((await tenants()).filter((tenant) => tenant.inTurn)).toHaveLength(2);
      for (const answer of await refused)
        expect(answer).toMatchObject({ status: 503, code: "OVERLOADED", retryAfter: "1" });
      expect(performance.now() - startedAt).toBeLessThan(6000);
      await answers(hostOf("further"));
      await vi.waitFor(
        async () => expect(await ask(hostOf("many0"))).toMatchObject({ status: 500, code: "DATABASE_UNAVAILABLE" }),
        { timeout: 60_000, interval: 100 },
      );
      await vi.waitFor(async () => expect(await isClosingRecorded("many9", id)).toBe(true), {
        timeout: 60_000,
        interval: 500,
      });
      database.hangs(false);
      await vi.waitFor(async () => expect((await all(HANGING)).every(({ status }) => status === 200)).toBe(true), {
        timeout: 60_000,
        interval: 250,
      });
      expect(await ended(child)).toBe(0);
    } finally {
      database.close();
    }
  });
});

/** Puts a proxy between tenants and their databases that can stop to answer, as a machine does that lost its disk. */
async function hangingDatabase(tenants: readonly string[]): Promise<{ hangs(hangs: boolean): void; close(): void }> {
  const { host, port } = embeddedCluster(operator.directory).connection(tenants[0] ?? "");
  const open = new Set<Socket>();
  let hangs = false;
  const proxy = createServer((client) => {
    const upstream = connect(`${host}/.s.PGSQL.${port}`);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on("error", () => {}).on("close", () => to.destroy());
      from.on("data", (bytes) => void (hangs || to.write(bytes)));
    }
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const { port: own } = proxy.address() as AddressInfo;
  const lines = tenants.map((tenant) => {
    const url = `postgres://${serverLogin(tenant)}@127.0.0.1:${own}/${tenant}?sslmode=disable`;
    return `${tenant.toUpperCase()}_DATABASE_URL=${url}\n`;
  });
  await appendFile(join(operator.directory, ".env"), lines.join(""));
  for (const tenant of tenants) {
    const url = `database: { url: { env: ${tenant.toUpperCase()}_DATABASE_URL } }`;
    await operator.edit(tenant, (file) => `${file}\n${url}\n`);
  }
  const drop = () => {
    for (const socket of open) socket.destroy();
    open.clear();
  };
  return {
    hangs(next) {
      hangs = next;
      if (!next) drop();
    },
    close() {
      drop();
      proxy.close();
    },
  };
}
