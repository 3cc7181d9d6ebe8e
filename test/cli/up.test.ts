import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";
import { totalmem } from "node:os";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { addressByUrl } from "../../src/app/doors/address-by-url.ts";
import { findServer } from "../../src/app/doors/find-server.ts";
import { readCounts } from "../../src/app/fleet/soak.ts";
import { nurseryMb } from "../../src/app/serve/heap.ts";
import { readOperatorTenant } from "../../src/app/tenant/operator-tenant.ts";
import { completeProgram } from "../../src/cli/program.ts";
import type { Served } from "../../src/cli/serve/serve.ts";
import { serveArguments } from "../../src/cli/serve/up.ts";
import { type Sql, withClient } from "../../src/postgres/connect.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { marketThatCloses, newOperator, type Operator } from "../support/operator.ts";
import { MAIN } from "./support/pmctl.ts";

/** `pmctl up` as a process, with what it wrote. */
interface Up {
  child: ChildProcess;
  served: Served[];
  errors: () => string;
  until(isSo: () => boolean): Promise<void>;
}

let operator: Operator;
/** The processes' directory for temporary files. */
let temporary: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  operator = await newOperator();
  temporary = `${operator.directory}/tmp`;
  mkdirSync(temporary);
  for (const tenant of ["acme", "zeta"]) {
    await operator.run("init", tenant);
    await operator.edit(tenant, (text) => `${text}\nserver: { port: 0, opsPort: 0, hosts: [${tenant}.test] }\n`);
  }
  await operator.edit("acme", (text) => text.replace("[acme.test]", "[acme.test, acme.localhost]"));
  await operator.edit("zeta", (text) => text.replace("opsPort: 0,", "opsPort: 0, memoryMb: 256,"));
  await operator.run("init", "broken");
  await operator.edit("broken", (text) => text.replace("version: 1", "version: 2"));
  for (const tenant of ["acme", "zeta"]) expect((await operator.run("apply", tenant)).exitCode).toBe(0);
});
afterEach(async () => {
  for (const child of children) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
});
afterAll(() => operator.close());

function up(...args: string[]): Up {
  return upWith({}, ...args);
}

function upWith(env: Record<string, string>, ...args: string[]): Up {
  const child = spawn(process.execPath, [MAIN, "up", operator.directory, "-o", "ndjson", ...args], {
    cwd: "/tmp",
    env: { ...process.env, TMPDIR: temporary, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  const served: Served[] = [];
  let errors = "";
  createInterface(child.stdout).on("line", (line) => served.push(JSON.parse(line)));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  return {
    child,
    served,
    errors: () => errors,
    async until(isSo) {
      for (let waited = 0; !isSo(); waited += 50) {
        if (waited > 120_000) throw new Error(`up did not get there: ${JSON.stringify(served)} ${errors}`);
        await delay(50);
      }
    },
  };
}

/** Ends a worker that opens the tenant `broken`, as a fault of the machine or of Node would. */
const ENDS_BY_BROKEN = `--import=data:text/javascript,${encodeURIComponent(`
  const { send } = process;
  if (send) process.send = (message, ...rest) => {
    const sent = send.call(process, message, ...rest);
    if (message.kind === "opening" && message.tenant === "broken") process.kill(process.pid, "SIGKILL");
    return sent;
  };`)}`;

interface House extends Up {
  printed: Record<string, unknown>;
  port: number;
  /** Status, body and `Error-Code` of a GET of `/health`, or of another target. */
  ask(headers: Record<string, string>, target?: string): Promise<[number, unknown, (string | undefined)?]>;
  /** Status and body of a page of the operations listener. */
  ops(path: string): Promise<[number, unknown]>;
  tenants(): Promise<{ tenant: string; hosts: string[]; state: string; worker: number; problem: string | null }[]>;
}

/** `up --workers 2` on free ports. */
async function openHouse(...flags: string[]): Promise<House> {
  return openHouseWith({}, ...flags);
}

async function openHouseWith(env: Record<string, string>, ...flags: string[]): Promise<House> {
  const started = upWith(env, "--workers", "2", "--port", "0", "--ops-port", "0", ...flags);
  const lines = started.served as unknown as Record<string, unknown>[];
  await started.until(() => lines.some(({ workers }) => workers !== undefined));
  const printed = lines.find(({ workers }) => workers !== undefined) ?? {};
  const port = Number(new URL(String(printed.url)).port);
  const ops: House["ops"] = async (path) => {
    const answer = await fetch(`${printed.opsUrl}${path}`);
    const text = await answer.text();
    return [answer.status, path === "/metrics" ? text : JSON.parse(text)];
  };
  return {
    ...started,
    printed,
    port,
    ops,
    ask: (headers, path = "/health") =>
      new Promise((resolve, reject) => {
        get({ host: "127.0.0.1", port, path, headers, agent: false }, async (answer) => {
          const code = answer.headers["error-code"];
          const parts = [answer.statusCode ?? 0, JSON.parse(await text(answer))] as const;
          resolve(code === undefined ? [...parts] : [...parts, String(code)]);
        }).once("error", reject);
      }),
    tenants: async () => (await ops("/tenants"))[1] as Awaited<ReturnType<House["tenants"]>>,
  };
}

/** The process id of the worker that serves a tenant. */
async function serverOf(ops: House["ops"], tenant: string): Promise<number> {
  const [, body] = await ops(`/readyz?tenant=${tenant}`);
  return Number(/-(\d+)-[0-9a-f]+$/.exec((body as { server: string }).server)?.[1]);
}

async function inDatabase(query: (sql: Sql) => PromiseLike<{ count: number }[]>): Promise<number> {
  const connection = embeddedCluster(operator.directory).connection("acme");
  return withClient(connection, { name: "test", max: 1 }, async (sql) => (await query(sql))[0]?.count ?? 0);
}

/** The connections to a tenant's database, those of this test left out. */
function connectionsTo(database: string): Promise<number> {
  return inDatabase(
    (sql) => sql`
      select count(*)::int4 as count from pg_stat_activity
       where datname = ${database} and application_name like 'pmctl%' and application_name <> 'pmctl test'`,
  );
}

function closingsOf(marketId: string): Promise<number> {
  return inDatabase(
    (sql) => sql`select count(*)::int4 as count from book where market_id = ${marketId} and closing_recorded`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that ended and was not fetched yet is no server any more.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Whether a server took its run file away, as one does that finished; one that was killed could not. */
function isTidy(...servers: Served[]): boolean {
  const names = readdirSync(`${operator.directory}/.pmctl/servers`);
  return servers.every(({ tenant, pid }) => !names.includes(`${tenant}-${pid}.json`));
}

describe("pmctl up", () => {
  test("serves every tenant; one that fails is tried again and stops no other; a killed one comes back; SIGTERM ends all", async () => {
    const { child, served, errors, until } = up();
    await until(() => served.length >= 2 && errors().includes("the server of broken ended"));
    expect(served.map(({ tenant }) => tenant).toSorted()).toEqual(["acme", "zeta"]);
    expect(errors()).toMatch(/^broken \| .*tenant\.yaml:\d+:\d+ {2}version/m);
    for (const { tenant, opsUrl } of served)
      expect(await (await fetch(`${opsUrl}/livez`)).json()).toEqual({ ok: true, tenant });

    const warning = expect.stringContaining("synchronous standby");
    for (const server of served) {
      expect(server).toMatchObject({ survives: "crash", warnings: [warning] });
      expect(errors()).toContain(`| ${server.warnings[0]}`);
    }

    for (const [tenant, memoryMb] of Object.entries({ acme: 400, zeta: 256 })) {
      const { pid } = served.find((each) => each.tenant === tenant) as Served;
      const nursery = `--max-semi-space-size=${nurseryMb(memoryMb, totalmem())}`;
      expect(readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")).toContain(nursery);
    }

    const [first, second] = served as [Served, Served];
    process.kill(first.pid, "SIGKILL");
    await until(() => served.length === 3);
    const back = served[2] as Served;
    expect(back.tenant).toBe(first.tenant);
    expect(back.pid).not.toBe(first.pid);
    expect(errors()).toContain(`the server of ${first.tenant} ended (SIGKILL); starting it again in 0.5 s`);
    expect(await (await fetch(`${back.opsUrl}/readyz`)).json()).toMatchObject({ ok: true });
    expect(isAlive(second.pid)).toBe(true);

    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect([first, second, back].filter(({ pid }) => isAlive(pid))).toEqual([]);
    expect(isTidy(second, back)).toBe(true);
  });

  test("leaves no server behind when it is itself killed without warning", async () => {
    const { child, served, until } = up("-t", "acme");
    await until(() => served.length === 1);
    const server = served[0] as Served;
    child.kill("SIGKILL");
    await until(() => !isAlive(server.pid));
    expect(isTidy(server)).toBe(true);
  });

  test("Ctrl-C stops it as SIGTERM does, and shows in its exit code", async () => {
    const { child, served, until } = up("-t", "acme");
    await until(() => served.length === 1);
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
    expect(isAlive(served[0]?.pid ?? 0)).toBe(false);
  });

  test("a directory without tenants is bad usage", async () => {
    const { exitCode, stderr } = await operator.run("up", "/tmp/pmctl-nothing-here");
    expect(exitCode).toBe(6);
    expect(stderr).toContain("There are no tenants in /tmp/pmctl-nothing-here");
  });
});

describe("pmctl up --workers", () => {
  test("serves all tenants on one port by the host of each request, and closes those that are not asked for", async () => {
    const house = await openHouse("--idle-seconds", "1");
    const { ask, tenants, ops, child, errors, port, until } = house;
    expect(house.printed).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      opsUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      workers: 2,
      tenants: 3,
      pid: child.pid,
    });
    expect(await ops("/livez")).toEqual([200, { ok: true }]);
    expect(await ops("/readyz")).toMatchObject([200, { ok: true, workers: 2, serving: 2 }]);
    expect(await ops("/readyz?tenant=nobody")).toMatchObject([404, {}]);
    expect(await ops("/readyz?tenant=acme&tenant=zeta")).toEqual([400, { error: "A query parameter is given twice" }]);
    const [acme, broken, zeta] = await tenants();
    expect(acme).toMatchObject({ tenant: "acme", hosts: ["acme.test", "acme.localhost", "predict.acme.example"] });
    expect(zeta).toMatchObject({ tenant: "zeta", hosts: ["zeta.test", "predict.zeta.example"], worker: 1 });
    expect(broken).toMatchObject({ tenant: "broken", hosts: [], state: "failed" });
    expect(broken?.problem).toMatch(/tenant\.yaml:\d+:\d+ {2}version/);
    expect(await ops("/readyz?tenant=broken")).toMatchObject([503, { ok: false, state: "failed" }]);

    for (const host of ["acme.test", "ACME.test.:8080", "predict.acme.example"])
      expect(await ask({ host })).toMatchObject([200, { ok: true }]);
    expect(await ask({ host: "nobody.test", "x-forwarded-host": "acme.test" })).toEqual([
      404,
      { error: "No tenant is served under this host" },
      "UNKNOWN_HOST",
    ]);
    expect(await ask({ host: "nobody.test" }, "http://acme.test/health")).toMatchObject([200, { ok: true }]);
    expect(await ops("/readyz?tenant=acme")).toMatchObject([200, { ok: true, tenant: "acme", writes: true }]);
    const [, metrics] = await ops("/metrics");
    expect(metrics).toContain('pmctl_http_requests_total{tenant="acme",route="/health",method="GET",status="200"} 4\n');
    expect(metrics).toContain('pmctl_tenants{state="failed"} 1\n');
    expect(String(metrics).match(/^# TYPE pmctl_http_requests_total /gm)).toHaveLength(1);
    // Commands and gates find the server behind the shared port, also of a tenant that is idle, which they open.
    expect((await tenants())[2]).toMatchObject({ state: "idle" });
    for (const tenant of ["acme", "zeta"]) {
      expect((await operator.run("-t", tenant, "--via", "http", "market", "list", "-o", "json")).exitCode).toBe(0);
      const declared = readOperatorTenant(tenant, operator.directory);
      expect(await readCounts(declared, null)).toHaveLength(1);
      const { found } = await findServer(declared);
      const address = tenant === "acme" ? `http://acme.localhost:${port}` : "https://predict.zeta.example";
      expect(found && (await addressByUrl(declared, found))).toBe(address);
    }

    // A file that is mended is taken up, and its tenant served once it is applied; the other worker passes its requests on.
    expect(errors()).toMatch(/^broken is not served until its file is mended: .*tenant\.yaml:\d+:\d+ {2}version/m);
    expect(await ask({ host: "predict.broken.example" })).toMatchObject([404, {}, "UNKNOWN_HOST"]);
    await operator.edit("broken", (text) => text.replace("version: 2", "version: 1"));
    await until(() => errors().includes("broken is served from now on, since its file was mended"));
    const early = await operator.run("-t", "broken", "--via", "http", "market", "list");
    expect(early).toMatchObject({ exitCode: 9, stderr: expect.stringMatching(/cannot serve it \(.*pmctl apply/s) });
    expect((await tenants())[1]).toMatchObject({ state: "failed", worker: 0 });
    expect(await operator.run("doctor", "broken")).toMatchObject({
      stdout: expect.stringContaining("cannot serve it"),
    });
    const applied = await operator.run("apply", "broken");
    expect(applied).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("going straight to the database") });
    const answer = () => ask({ host: "nobody.test" }, "http://predict.broken.example/health");
    await vi.waitFor(async () => expect((await answer())[0]).toBe(200), { timeout: 60_000, interval: 500 });
    await operator.edit("broken", (text) => text.replace("version: 1", "version: 2"));

    await vi.waitFor(async () => expect((await tenants())[0]?.state).toBe("idle"), { timeout: 60_000, interval: 100 });
    // PostgreSQL takes a moment to end its side of a connection.
    await vi.waitFor(async () => expect(await connectionsTo("acme")).toBe(0), { timeout: 10_000 });
    expect(await ask({ host: "acme.test" })).toMatchObject([200, { ok: true }]);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(errors()).not.toMatch(/worker \d ended|The listener failed/);
  });

  test("one connection may carry requests of several tenants, each with its own key, body and client", async () => {
    const { port, child } = await openHouse();
    const secrets = await operator.secrets();
    const request = (host: string, path: string, key: string, body = "") =>
      [
        `${body === "" ? "GET" : "POST"} ${path} HTTP/1.1`,
        `host: ${host}`,
        `x-api-key: ${key}`,
        ...(body === "" ? [] : ["content-type: application/json", "transfer-encoding: chunked"]),
        "\r\n",
      ].join("\r\n") + (body === "" ? "" : `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`);
    const client = connect(port, "127.0.0.1");
    let answered = "";
    client.setEncoding("latin1").on("data", (text: string) => {
      answered += text;
    });
    const key = (tenant: string) => secrets[`${tenant.toUpperCase()}_ADMIN_KEY`] ?? "";
    client.write(request("acme.test", "/v1/policy", key("acme")));
    client.write(request("zeta.test", "/v1/policy", key("zeta")));
    client.write(request("zeta.test", "/v1/policy", key("acme")));
    client.write(request("zeta.test", "/v1/quote", key("zeta"), JSON.stringify({ marketId: "mkt_none" })));
    client.write(request("acme.test", "/v1/policy", key("acme")));
    await vi.waitFor(() => expect(answered.match(/HTTP\/1\.1 \d+/g)).toHaveLength(5), { timeout: 60_000 });
    expect(answered.match(/HTTP\/1\.1 \d+/g)).toEqual([200, 200, 401, 400, 200].map((status) => `HTTP/1.1 ${status}`));
    client.destroy();
    child.kill("SIGTERM");
    await once(child, "exit");
  });

  test("a worker that is killed comes back, and the tenants of others do not notice; work is done for tenants nobody asks for", async () => {
    const house = await openHouseWith({ NODE_OPTIONS: ENDS_BY_BROKEN }, "--idle-seconds", "1");
    const { ask, ops, tenants, child, until, errors } = house;
    expect(await ask({ host: "zeta.test" })).toMatchObject([200, {}]);
    const before = await serverOf(ops, "zeta");
    expect(await ask({ host: "acme.test" })).toMatchObject([200, {}]);
    const acme = await serverOf(ops, "acme");
    process.kill(acme, "SIGKILL");
    await until(() => errors().includes("worker 0 ended (SIGKILL)"));
    expect(await ask({ host: "zeta.test" })).toMatchObject([200, {}]);
    expect(await ask({ host: "acme.test" })).toMatchObject([200, {}]);
    expect(await serverOf(ops, "zeta")).toBe(before);
    expect(await serverOf(ops, "acme")).not.toBe(acme);

    // A tenant whose opening ends the worker each time is set apart, and its siblings are served.
    await operator.edit("broken", (text) => text.replace("version: 2", "version: 1"));
    await until(() => errors().includes("broken is served from now on"));
    await ask({ host: "predict.broken.example" }).catch(() => undefined);
    await until(() => errors().includes("worker 0 serves broken no longer: set apart"));
    await operator.edit("broken", (text) => text.replace("version: 1", "version: 2"));
    expect(errors().match(/worker 0 ended while it opened .*broken/g)).toHaveLength(3);
    expect(await ask({ host: "acme.test" })).toMatchObject([200, {}]);
    expect(await ask({ host: "predict.broken.example" })).toMatchObject([500, {}, "INTERNAL"]);
    const setApart = { state: "failed", problem: expect.stringContaining("--isolate broken") };
    expect((await tenants())[1]).toMatchObject(setApart);
    expect(await ops("/readyz?tenant=broken")).toMatchObject([503, setApart]);
    expect(await serverOf(ops, "zeta")).toBe(before);

    await vi.waitFor(async () => expect((await tenants())[0]?.state).toBe("idle"), { timeout: 60_000, interval: 100 });
    const { id } = await marketThatCloses(operator, (closeAt) => [
      ...["-t", "acme", "--via", "db", "market", "create", "-o", "json", "--close-at", closeAt],
      ...["--question", "Will it be recorded?", "--category", "other", "--resolution-ref", "see the news"],
      ...["--kind", "cpmm", "--p0", "0.5", "--liquidity", "100", "--yes"],
    ]);
    await vi.waitFor(async () => expect(await closingsOf(id)).toBe(1), { timeout: 60_000, interval: 500 });
    child.kill("SIGKILL");
    await until(() => !isAlive(before));
    await vi.waitFor(() => expect(readdirSync(temporary)).toEqual([]), { timeout: 60_000 });
  });

  test("--https shows each name's own certificate, and --isolate leaves a tenant a process and ports of its own", async () => {
    const { port, printed, tenants, served, until, child } = await openHouse("--https", "--isolate", "ze*");
    expect(printed.url).toMatch(/^https:/);
    // The command is the first client of the tenant's name, for which the house signs a certificate then.
    expect((await operator.run("-t", "acme", "--via", "http", "market", "list", "-o", "json")).exitCode).toBe(0);
    const secure = (servername: string, host: string) =>
      new Promise<[string, string | undefined]>((resolve, reject) => {
        const socket = connectTls({ port, host: "127.0.0.1", servername, rejectUnauthorized: false }, () => {
          const names = socket.getPeerCertificate().subjectaltname ?? "";
          socket.setEncoding("latin1").once("data", (text: string) => {
            resolve([names, text.split("\r\n", 1)[0]]);
            socket.destroy();
          });
          socket.write(`GET /health HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
        });
        socket.once("error", reject);
      });
    const [names, status] = await secure("acme.test", "acme.test");
    expect(names).toContain("DNS:acme.test");
    expect(status).toBe("HTTP/1.1 200 OK");
    expect(await secure("nobody.test", "nobody.test")).toEqual([
      expect.stringContaining("localhost"),
      "HTTP/1.1 404 Not Found",
    ]);
    expect((await tenants()).map(({ tenant }) => tenant)).toEqual(["acme", "broken"]);
    await until(() => served.some(({ tenant }) => tenant === "zeta"));
    const zeta = served.find(({ tenant }) => tenant === "zeta");
    expect(await (await fetch(`${zeta?.opsUrl}/livez`)).json()).toEqual({ ok: true, tenant: "zeta" });
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("a host of two tenants is refused, naming both; its options need --workers", async () => {
    const text = readFileSync(`${operator.directory}/tenants/zeta/tenant.yaml`, "utf8");
    await operator.edit("zeta", () => text.replace("zeta.test", "acme.test"));
    const { exitCode, stderr } = await operator.run("up", "--workers", "1", "--port", "0", "--ops-port", "0");
    await operator.edit("zeta", () => text);
    expect(exitCode).toBe(6);
    expect(stderr).toContain("acme.test is a host of both acme and zeta");
    const alone = await operator.run("up", "--port", "0");
    expect(alone).toMatchObject({ exitCode: 6, stderr: expect.stringContaining("--port needs --workers") });
  });
});

test("up takes no --open and no --qr: it would open a browser for every tenant", async () => {
  const up = (await completeProgram()).commands.find((command) => command.name() === "up");
  const flags = up?.options.map(({ long }) => long);
  expect(flags).toContain("--https");
  for (const flag of ["--open", "--qr"]) expect(flags).not.toContain(flag);
});

test("every option of serve but the ports is handed on, as it was given", () => {
  const given = (...args: string[]) => {
    const serve = new Command("serve").option("--host <address>").option("--https").option("--no-sweep");
    return serveArguments(serve.parse(args, { from: "user" }).opts(), serve.options);
  };
  expect(given()).toEqual([]);
  expect(given("--no-sweep", "--host", "::1", "--https")).toEqual(["--host", "::1", "--https", "--no-sweep"]);
});
