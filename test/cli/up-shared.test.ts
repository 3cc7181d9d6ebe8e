import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile } from "node:fs/promises";
import { Agent, type OutgoingHttpHeaders, request } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { textArray } from "../../src/postgres/arrays.ts";
import { withClient } from "../../src/postgres/connect.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { serverLogin } from "../../src/postgres/embedded/settings.ts";
import { marketThatCloses, newOperator, type Operator } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";
import { MAIN } from "./support/pmctl.ts";

interface Asked {
  method?: string;
  headers?: OutgoingHttpHeaders;
  agent?: Agent;
}

interface Answered {
  status: number;
  code: unknown;
  body: Record<string, unknown>;
  retryAfter?: string | undefined;
}

/** `pmctl up --shared` as a process. */
interface Shared {
  child: ChildProcess;
  printed: Record<string, unknown>;
  port: number;
  /** What it has said on stderr so far. */
  said(): string;
  ask(host: string, path?: string, asked?: Asked): Promise<Answered>;
  /** Status and body of a page of the operations listener. */
  ops(path: string): Promise<[number, unknown]>;
  tenants(): Promise<{ tenant: string; hosts: string[]; state: string; problem: string | null; inTurn: boolean }[]>;
}

const hostOf = (tenant: string) => `predict.${tenant}.example`;

let operator: Operator;
let secrets: Record<string, string>;
const children = new Set<ChildProcess>();

async function directoryWith(...tenants: string[]): Promise<void> {
  operator = await newOperator();
  for (const tenant of tenants) {
    await operator.run("init", tenant);
    await operator.edit(tenant, (file) => `${withRateLimit(file, 1_000_000)}\nkyc: { required: false }\n`);
  }
  expect(await operator.run("apply", "*", "--quiet")).toMatchObject({ exitCode: 0 });
  secrets = await operator.secrets();
}

async function open(...flags: string[]): Promise<Shared> {
  const child = spawn(
    process.execPath,
    [MAIN, "up", operator.directory, "--shared", "--port", "0", "--ops-port", "0", "-o", "ndjson", ...flags],
    { cwd: "/tmp", stdio: ["ignore", "pipe", "pipe"] },
  );
  children.add(child);
  child.once("exit", () => children.delete(child));
  let said = "";
  child.stderr.on("data", (bytes) => {
    said += String(bytes);
  });
  const [line] = await Promise.race([
    once(createInterface(child.stdout), "line"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`up ended with ${code}: ${said}`))),
  ]);
  const printed = JSON.parse(String(line)) as Shared["printed"];
  const port = Number(new URL(String(printed.url)).port);
  const ops: Shared["ops"] = async (path) => {
    const answer = await fetch(`${printed.opsUrl}${path}`);
    const body = await answer.text();
    return [answer.status, path === "/metrics" ? body : JSON.parse(body)];
  };
  return {
    ...{ child, printed, port, ops },
    said: () => said,
    ask: (host, path = "/health", { method = "GET", headers = {}, agent } = {}) =>
      new Promise((resolve, reject) => {
        const asked = request({
          ...{ host: "127.0.0.1", port, path, method, agent: agent ?? false, headers: { host, ...headers } },
        });
        asked.once("error", reject).once("response", async (answer) => {
          const { statusCode: status = 0, headers: head } = answer;
          const body = JSON.parse(await text(answer)) as Answered["body"];
          resolve({ status, code: head["error-code"], body, retryAfter: head["retry-after"] });
        });
        asked.end();
      }),
    tenants: async () => (await ops("/tenants"))[1] as Awaited<ReturnType<Shared["tenants"]>>,
  };
}

async function ended(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<unknown> {
  const exit = once(child, "exit");
  child.kill(signal);
  return (await exit)[0];
}

async function closeAll(): Promise<void> {
  for (const child of children) await ended(child, "SIGKILL");
  await operator.close();
}

function inDatabase<Row extends object>(
  database: string,
  query: (sql: Parameters<Parameters<typeof withClient>[2]>[0]) => PromiseLike<readonly Row[]>,
) {
  const connection = embeddedCluster(operator.directory).connection(database);
  return withClient(connection, { name: "test", max: 1 }, query);
}

const sessionsOf = async (...tenants: string[]) =>
  (
    await inDatabase<{ pid: number }>(
      tenants[0] ?? "",
      (sql) => sql`
        select pid from pg_stat_activity
         where datname = any(${textArray(tenants)}::text[]) and application_name like 'pmctl%' and application_name <> 'pmctl test'`,
    )
  ).map(({ pid }) => pid);

const isClosingRecorded = async (tenant: string, marketId: string) =>
  (
    await inDatabase<{ closing_recorded: boolean }>(
      tenant,
      (sql) => sql`select closing_recorded from book where market_id = ${marketId}`,
    )
  ).some((row) => row.closing_recorded);

const closingMarket = (tenant: string) =>
  marketThatCloses(operator, (closeAt) => [
    ...["-t", tenant, "--via", "db", "market", "create", "-o", "json", "--close-at", closeAt],
    ...["--question", "Will it be recorded?", "--category", "other", "--resolution-ref", "see the news"],
    ...["--kind", "cpmm", "--p0", "0.5", "--liquidity", "100", "--yes"],
  ]);

describe("many tenants in one process", () => {
  beforeAll(async () => {
    await directoryWith("acme", "zeta");
    await operator.run("init", "broken");
    await operator.edit("broken", (file) => file.replace("version: 1", "version: 2"));
  });
  afterAll(closeAll);

  test("each request belongs to the tenant of its host, and a tenant is closed when it is not asked for", async () => {
    const shared = await open("--idle-seconds", "1");
    const { ask, ops, tenants, child, printed } = shared;
    expect(printed).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      opsUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      tenants: 3,
      pid: child.pid,
    });
    expect(await ops("/livez")).toEqual([200, { ok: true }]);
    expect(await ops("/readyz")).toMatchObject([200, { ok: true, draining: false }]);
    expect(await ops("/readyz?tenant=nobody")).toMatchObject([404, {}]);
    expect(await ops("/readyz?tenant=acme&tenant=zeta")).toEqual([400, { error: "A query parameter is given twice" }]);
    const problem = expect.stringMatching(/tenant\.yaml:\d+:\d+ {2}version/);
    expect(await tenants()).toMatchObject([
      { tenant: "acme", hosts: [hostOf("acme")], problem: null },
      { tenant: "broken", hosts: [], state: "failed", problem },
      { tenant: "zeta", hosts: [hostOf("zeta")], problem: null },
    ]);
    expect(await ops("/readyz?tenant=broken")).toMatchObject([503, { ok: false, state: "failed" }]);

    for (const host of [hostOf("acme"), "PREDICT.acme.example.:8080"])
      expect(await ask(host)).toMatchObject({ status: 200, body: { ok: true } });
    const unknown = await ask("nobody.test", "/health", { headers: { "x-forwarded-host": hostOf("acme") } });
    expect(unknown).toEqual({
      status: 404,
      code: "UNKNOWN_HOST",
      body: { error: "No tenant is served under this host" },
    });
    expect(await ask("nobody.test", `http://${hostOf("acme")}/health`)).toMatchObject({ status: 200 });
    expect(await ops("/readyz?tenant=acme")).toMatchObject([200, { ok: true, tenant: "acme", writes: true }]);
    const [, metrics] = await ops("/metrics");
    expect(metrics).toContain('pmctl_http_requests_total{tenant="acme",route="/health",method="GET",status="200"} 3\n');
    expect(metrics).toContain('pmctl_tenants{state="failed"} 1\n');
    expect(String(metrics).match(/^# TYPE pmctl_http_requests_total /gm)).toHaveLength(1);

    // One connection may carry requests of several tenants, each with its own key.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const policyOf = (tenant: string, key: string) =>
      ask(hostOf(tenant), "/v1/policy", { agent, headers: { "x-api-key": secrets[key] ?? "" } });
    for (const [tenant, key, status] of [
      ["acme", "ACME_ADMIN_KEY", 200],
      ["zeta", "ZETA_ADMIN_KEY", 200],
      ["zeta", "ACME_ADMIN_KEY", 401],
      ["acme", "ACME_ADMIN_KEY", 200],
    ] as const)
      expect((await policyOf(tenant, key)).status).toBe(status);
    agent.destroy();

    // A command of this machine finds the server of a tenant that is idle, too.
    for (const tenant of ["acme", "zeta"])
      expect(await operator.run("-t", tenant, "--via", "http", "market", "list", "-o", "json")).toMatchObject({
        exitCode: 0,
      });

    await vi.waitFor(
      async () => expect((await tenants()).map(({ state }) => state)).toEqual(["idle", "failed", "idle"]),
      { timeout: 60_000, interval: 100 },
    );
    await vi.waitFor(async () => expect(await sessionsOf("acme")).toEqual([]), { timeout: 20_000, interval: 100 });
    // What a command changes past the server is noticed, and done in time.
    const { id } = await closingMarket("acme");
    await vi.waitFor(async () => expect(await isClosingRecorded("acme", id)).toBe(true), {
      timeout: 60_000,
      interval: 500,
    });
    expect(await ended(child)).toBe(0);
    expect(shared.said()).not.toContain("The listener failed");
  });

  test("a tenant whose file is mended or that had its first apply is served; one whose database hangs is failed, its neighbours answer", async () => {
    const { ask, tenants, said, child } = await open();
    const late = () => ask(hostOf("broken"));
    expect(await late()).toMatchObject({ status: 404, code: "UNKNOWN_HOST" });
    await operator.edit("broken", (file) => file.replace("version: 2", "version: 1"));
    await vi.waitFor(() => expect(said()).toContain("broken is served from now on"), { timeout: 20_000 });
    expect(await late()).toMatchObject({ status: 500, code: "DATABASE_UNAVAILABLE" });
    expect(await operator.run("apply", "broken")).toMatchObject({ exitCode: 0 });
    await vi.waitFor(async () => expect(await late()).toMatchObject({ status: 200 }), { timeout: 20_000 });

    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await ask(hostOf("zeta"), "/health", { agent })).toMatchObject({ status: 200 });
    // Its database takes no more connections, and what it has hangs.
    await inDatabase("zeta", (sql) => sql`alter database acme connection limit 0`);
    try {
      const startedAt = performance.now();
      const [, neighbour] = await Promise.all([
        vi.waitFor(
          async () => expect(await ask(hostOf("acme"))).toMatchObject({ status: 500, code: "DATABASE_UNAVAILABLE" }),
          { timeout: 10_000 },
        ),
        ask(hostOf("zeta"), "/health", { agent }),
      ]);
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      expect(neighbour).toMatchObject({ status: 200 });
      expect((await tenants()).find(({ tenant }) => tenant === "acme")).toMatchObject({ state: "failed" });
    } finally {
      await inDatabase("zeta", (sql) => sql`alter database acme connection limit -1`);
      agent.destroy();
    }
    await vi.waitFor(async () => expect(await ask(hostOf("acme"))).toMatchObject({ status: 200 }), { timeout: 20_000 });
    expect(await ended(child)).toBe(0);
  });

  test("--https shows each name's own certificate", async () => {
    const { port, printed, child } = await open("--https");
    expect(printed.url).toMatch(/^https:/);
    const secure = (servername: string) =>
      new Promise<[string, string | undefined]>((resolve, reject) => {
        const socket = connectTls({ port, host: "127.0.0.1", servername, rejectUnauthorized: false }, () => {
          const names = socket.getPeerCertificate().subjectaltname ?? "";
          socket.setEncoding("latin1").once("data", (answer: string) => {
            resolve([names, answer.split("\r\n", 1)[0]]);
            socket.destroy();
          });
          socket.write(`GET /health HTTP/1.1\r\nhost: ${servername}\r\n\r\n`);
        });
        socket.once("error", reject);
      });
    expect(await secure(hostOf("acme"))).toEqual([expect.stringContaining(`DNS:${hostOf("acme")}`), "HTTP/1.1 200 OK"]);
    expect(await secure("nobody.test")).toEqual([expect.stringContaining("DNS:localhost"), "HTTP/1.1 404 Not Found"]);
    expect(await ended(child)).toBe(0);
  });
});

describe("more tenants than connections", () => {
  const MANY = Array.from({ length: 10 }, (_, index) => `many${index}`);
  const sockets: Socket[] = [];
  beforeAll(() => directoryWith(...MANY, "further"));
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await closeAll();
  });

  const stream = (tenant: string) =>
    `GET /v1/stream HTTP/1.1\r\nhost: ${hostOf(tenant)}\r\nx-api-key: ${secrets[`${tenant.toUpperCase()}_PUBLIC_KEY`]}\r\n\r\n`;
  const unread = (tenant: string) =>
    `POST /v1/trade HTTP/1.1\r\nhost: ${hostOf(tenant)}\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{`;

  test("ten, then fifty open streams and unread bodies keep no further tenant from answering, nor its due closing", async () => {
    const { port, ask, ops, child } = await open("--connections", "8", "--idle-seconds", "2");
    // On a busy machine an opening may take longer than a request waits.
    const answers = (tenant: string) =>
      vi.waitFor(async () => expect(await ask(hostOf(tenant))).toMatchObject({ status: 200, body: { ok: true } }), {
        timeout: 20_000,
        interval: 250,
      });
    for (let times = 0; times < 5; times++) {
      for (const [index, tenant] of MANY.entries()) {
        const socket = connect(port, "127.0.0.1");
        socket.on("error", () => {}).resume();
        sockets.push(socket);
        const isStream = (index + times) % 2 === 0;
        const begun = isStream ? once(socket, "data") : once(socket, "connect");
        socket.write(isStream ? stream(tenant) : unread(tenant));
        await begun;
      }
      if (times === 0) await answers("further");
    }
    expect(sockets).toHaveLength(50);
    await answers("further");
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
    const { ask, ops, tenants, child } = await open("--idle-seconds", "2");
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
      await vi.waitFor(async () => expect(await ask(hostOf("further"))).toMatchObject({ status: 200 }), {
        timeout: 20_000,
        interval: 250,
      });
      await vi.waitFor(
        async () => expect(await ask(hostOf("many0"))).toMatchObject({ status: 500, code: "DATABASE_UNAVAILABLE" }),
        { timeout: 30_000, interval: 100 },
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
