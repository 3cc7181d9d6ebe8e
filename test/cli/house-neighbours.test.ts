import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, type OutgoingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { HostedTenant } from "../../src/app/house/hosted-tenant.ts";
import { Fault } from "../../src/domain/fault.ts";
import { withClient } from "../../src/postgres/connect.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";
import { userToken } from "../support/user-token.ts";
import { MAIN } from "./support/pmctl.ts";

interface Asked {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: object;
  /** Without one the connection is the request's own. */
  agent?: Agent;
}

interface Answered {
  status: number;
  code: unknown;
  body: Record<string, unknown>;
}

/** One worker serves acme, whose neighbours do what they can to hold it up. */
const NEIGHBOURS = ["loud", "east", "west"];
/** Of three tenants at a time, at four connections each. */
const CONNECTIONS = "12";
const FLOODING = 64;

describe("neighbours in one worker", () => {
  let operator: Operator;
  let house: ChildProcess;
  let port: number;
  let opsUrl: string;
  let secrets: Record<string, string>;
  let marketId: string;
  let token: string;
  /** What the house wrote on stderr. */
  let said = "";

  beforeAll(async () => {
    operator = await newOperator();
    for (const tenant of ["acme", ...NEIGHBOURS]) {
      await operator.run("init", tenant);
      const limited = (text: string) => (tenant === "east" ? text : withRateLimit(text, 1_000_000));
      await operator.edit(tenant, (text) => `${limited(text)}\nkyc: { required: false }\n`.replace('["US"]', "[]"));
    }
    expect(await operator.run("apply", "*")).toMatchObject({ exitCode: 0 });
    await operator.run("init", "late");
    secrets = await operator.secrets();
    token = await userToken("ann", secrets);
    const acme = (...words: string[]) => operator.run("-t", "acme", ...words, "-o", "json", "--yes");
    const market = await acme(
      ...["market", "create", "--question", "Will it hold?", "--category", "test", "--kind", "cpmm", "--p0", "0.5"],
      ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "--liquidity", "20000"],
    );
    marketId = (JSON.parse(market.stdout) as { id: string }).id;
    const credit = await acme("funding", "credit", "--user", "ann", "--amount", "500", "--yes", "--reason", "opening");
    expect(credit).toMatchObject({ exitCode: 0 });

    const flags = ["--workers", "1", "--port", "0", "--ops-port", "0", "--connections", CONNECTIONS];
    house = spawn(process.execPath, [MAIN, "up", operator.directory, "-o", "ndjson", ...flags], {
      cwd: "/tmp",
      stdio: ["ignore", "pipe", "pipe"],
    });
    house.stderr?.on("data", (bytes) => {
      said += String(bytes);
    });
    const [line] = await once(createInterface(house.stdout ?? process.stdin), "line");
    const printed = JSON.parse(String(line)) as { url: string; opsUrl: string };
    port = Number(new URL(printed.url).port);
    opsUrl = printed.opsUrl;
  });
  afterAll(async () => {
    if (house?.kill("SIGTERM")) await once(house, "exit");
    await operator?.close();
  });

  const ask = (tenant: string, path: string, { method = "GET", headers = {}, body, agent }: Asked = {}) =>
    new Promise<Answered>((resolve, reject) => {
      const json = body && JSON.stringify(body);
      const asked = request({
        ...{ host: "127.0.0.1", port, path, method, agent: agent ?? false },
        headers: { host: hostOf(tenant), ...(json && { "content-type": "application/json" }), ...headers },
      });
      asked.once("error", reject).once("response", async (answer) => {
        const found = await text(answer);
        const { statusCode: status = 0, headers } = answer;
        resolve({ status, code: headers["error-code"], body: JSON.parse(found) as Answered["body"] });
      });
      asked.end(json);
    });

  const key = (tenant: string, kind: "ADMIN" | "PUBLIC") => ({
    "x-api-key": secrets[`${tenant.toUpperCase()}_${kind}_KEY`] ?? "",
  });

  /** Acme's trade, which must be acknowledged. @returns its id */
  async function trade(agent: Agent | undefined, idempotencyKey = randomUUID()): Promise<unknown> {
    const headers = {
      ...key("acme", "PUBLIC"),
      authorization: `Bearer ${token}`,
      "idempotency-key": idempotencyKey,
    };
    const body = { marketId, selection: { side: "yes" }, amount: 1 };
    const answer = await ask("acme", "/v1/trade", { method: "POST", headers, body, ...(agent && { agent }) });
    expect(answer).toMatchObject({ status: 200 });
    return answer.body.tradeId;
  }

  /** Sends requests for a host on many connections again and again, and opens others for it, until `work` is done. */
  async function flooded(host: string, work: () => Promise<void>): Promise<void> {
    let isFlooding = true;
    const bytes = (last: string) => `GET /health HTTP/1.1\r\nhost: ${host}\r\n${last}\r\n`;
    const kept = await Promise.all(Array.from({ length: FLOODING }, connected));
    for (const socket of kept) socket.on("data", () => socket.write(bytes(""))).write(bytes(""));
    const fresh = Array.from({ length: FLOODING }, async () => {
      while (isFlooding) {
        const socket = await connected();
        socket.resume().write(bytes("connection: close\r\n"));
        await once(socket, "close");
      }
    });
    await work();
    isFlooding = false;
    for (const socket of kept) socket.destroy();
    await Promise.all(fresh);
  }

  async function connected(): Promise<Socket> {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  }

  test.each([
    ["a tenant", hostOf("loud")],
    ["no tenant", "nowhere.test"],
  ])("under a flood of requests and connections for %s a neighbour trades, and is reached anew", async (_, host) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await flooded(host, async () => {
      await trade(agent);
      await trade(undefined);
    });
    agent.destroy();
  });

  test("heads and bodies that never end, and a body beyond the limit, take nothing from a neighbour", async () => {
    const halves = [`GET / HTTP/1.1\r\nhost: ${hostOf("loud")}\r\nx: `, post("loud", 5000), post("loud", 9e12)];
    const sockets: Socket[] = [];
    for (let sent = 0; sent < 300; sent += 1) {
      const socket = await connected();
      socket.resume().write(halves[sent % halves.length] ?? "");
      sockets.push(socket);
    }
    await trade(undefined);
    for (const socket of sockets) socket.destroy();
  });

  test("a tenant whose database hangs keeps neither an open neighbour from trading nor idle ones from opening", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await trade(agent);
    expect(await ask("loud", "/health")).toMatchObject({ status: 200 });
    const hung = await sessionsOf("loud");
    expect(hung.length).toBeGreaterThan(0);
    for (const pid of hung) process.kill(pid, "SIGSTOP");
    try {
      for (const tenant of ["east", "west", "east"]) {
        await trade(agent);
        expect(await ask(tenant, "/health")).toMatchObject({ status: 200 });
      }
    } finally {
      for (const pid of hung) process.kill(pid, "SIGCONT");
      agent.destroy();
    }
    expect(await ask("loud", "/health")).toMatchObject({ status: 200 });
  });

  test("keys, users' tokens, limits and logs are each tenant's own", async () => {
    const user = { ...key("loud", "PUBLIC"), authorization: `Bearer ${token}` };
    expect(await ask("loud", "/v1/policy", { headers: key("acme", "ADMIN") })).toMatchObject({ status: 401 });
    expect(await ask("loud", "/v1/wallet", { headers: user })).toMatchObject({ status: 401 });
    const statuses: number[] = [];
    while (statuses.length < 100 && !statuses.includes(429)) statuses.push((await ask("east", "/health")).status);
    expect(statuses).toContain(429);
    expect(await ask("acme", "/v1/policy", { headers: key("acme", "ADMIN") })).toMatchObject({ status: 200 });
    const logs = await Promise.all(
      ["acme", "loud"].map((tenant) => ask(tenant, "/v1/audit/status", { headers: key(tenant, "ADMIN") })),
    );
    expect(new Set(logs.map(({ body }) => body.head)).size).toBe(2);
    for (const { body } of logs) expect(body).toMatchObject({ verified: true });
  });

  test("a tenant without its first apply is waited for in one line, and answers as soon as it has had it", async () => {
    const health = () => ask("late", "/health");
    expect(await health()).toMatchObject({ status: 500, code: "DATABASE_UNAVAILABLE" });
    expect(await operator.run("apply", "late")).toMatchObject({ exitCode: 0 });
    await vi.waitFor(async () => expect(await health()).toMatchObject({ status: 200 }), { timeout: 3000 });
    type Line = { level: number; msg: string };
    const told = () =>
      said
        .split("\n")
        .filter((line) => line.includes('"late"'))
        .map((line) => JSON.parse(line.slice(line.indexOf("{"))) as Line)
        // What a change survives is said of every tenant.
        .filter(({ msg }) => !msg.includes("synchronous standby"));
    await vi.waitFor(() =>
      expect(told()).toMatchObject([
        { level: 30, msg: expect.stringContaining("run pmctl apply late") },
        { level: 30, msg: "The tenant is served again" },
      ]),
    );
  });

  test("after a worker was killed each acknowledged trade of its tenants stands, once", async () => {
    const idempotencyKey = randomUUID();
    const tradeId = await trade(undefined, idempotencyKey);
    const readiness = (await (await fetch(`${opsUrl}/readyz?tenant=acme`)).json()) as { server: string };
    process.kill(Number(/-(\d+)-[0-9a-f]+$/.exec(readiness.server)?.[1]), "SIGKILL");
    // What was given to the worker before its end was noticed ends with it.
    await vi.waitFor(async () => expect(await trade(undefined, idempotencyKey)).toBe(tradeId), { timeout: 60_000 });
    expect(await ask("loud", "/health")).toMatchObject({ status: 200 });
  });

  async function sessionsOf(tenant: string): Promise<number[]> {
    const connection = embeddedCluster(operator.directory).connection("acme");
    return withClient(connection, { name: "test", max: 1 }, async (sql) => {
      const rows = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity where datname = ${tenant} and application_name like 'pmctl%'`;
      return rows.map(({ pid }) => pid);
    });
  }
});

test("what a tenant waits for is told once, until it is something else or it was opened", async () => {
  const told: unknown[] = [];
  const log = pino({ level: "info" }, { write: (line) => void told.push((JSON.parse(line) as { msg: string }).msg) });
  const open = () => Promise.reject(new Error("not asked for"));
  const hosted = new HostedTenant({ tenant: "acme", open, log });
  for (const message of ["first", "first", "second", "second"]) hosted.fail(new Fault("REFUSED", message));
  expect(told).toEqual(["first", "second"].map((message) => `${message}. It is served as soon as that is done`));
  hosted.fail(new Fault("DATABASE_UNAVAILABLE", "away"));
  hosted.fail(new Fault("DATABASE_UNAVAILABLE", "away"));
  expect(told).toHaveLength(4);
});

function hostOf(tenant: string): string {
  return `predict.${tenant}.example`;
}

function post(tenant: string, length: number): string {
  return `POST /v1/trade HTTP/1.1\r\nhost: ${hostOf(tenant)}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n{`;
}
