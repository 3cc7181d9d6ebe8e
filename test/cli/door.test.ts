import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createNetServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { chooseDoor, type DoorOptions } from "../../src/app/tenant/door.ts";
import type { OperatorTenant } from "../../src/app/tenant/operator-tenant.ts";
import { serversHere } from "../../src/app/tenant/servers-here.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import type { ServerFacts } from "../../src/contract/server-facts.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { listenForCommands } from "../../src/server/command-socket.ts";
import { serverSockets, serversFolder } from "../../src/state/server-sockets.ts";

const STRANGER = 12345;
const isRoot = process.geteuid?.() === 0;

let directory: string;
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  directory = await mkdtemp("/tmp/pmctl-door-");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const close of closing.splice(0).toReversed()) await close();
  await rm(directory, { recursive: true, force: true });
});

const URL_OF_TRADERS = "https://predict.acme.example:8443";

function facts(more: Partial<ServerFacts> = {}): ServerFacts {
  return {
    ...{ tenant: "acme", pid: process.pid, server: "s", version: "1", since: "2026-01-01T00:00:00.000Z" },
    ...{ url: URL_OF_TRADERS, opsUrl: "http://127.0.0.1:1", auditKeyId: auditKey("KEY").id, problem: null },
    ...more,
  };
}

/** A server that answers every request with its name. */
async function serve(more: Partial<ServerFacts> = {}, name = "served", at = directory) {
  const socket = await listenForCommands({
    directory: at,
    tenant: "acme",
    facts: () => facts(more),
    page: async (path) => (path === "/readyz" ? { status: 200, body: "{}" } : undefined),
    handle: (_, response) => response.end(name),
  });
  const stop = async () => {
    const left = socket.leave();
    socket.destroy();
    await left;
  };
  closing.push(() => stop().catch(() => {}));
  return stop;
}

function tenant(server: object = {}): OperatorTenant {
  const config = {
    server: { host: "127.0.0.1", port: 0, ...server },
    audit: { key: { env: "KEY" }, previous: [{ env: "OLD_KEY" }] },
    source: { directory, problems: (problems: object[]) => problems },
    keys: { admin: [] },
  };
  const secret = ({ env }: { env: string }) => env;
  return { id: "acme", directory, config, secret } as unknown as OperatorTenant;
}

async function choose(via: DoorOptions["via"] = "auto", server: object = {}) {
  const notes: string[] = [];
  return { door: await chooseDoor(tenant(server), { via }, (note) => notes.push(note)), notes };
}

const DATABASE = { door: { kind: "db" }, notes: [] };
const sockets = () => readdirSync(serversFolder(directory, "acme"));

describe("the socket of a tenant's commands", () => {
  test("is in a folder that no other user can enter, and is removed when its server ends", async () => {
    const stop = await serve();
    const folder = join(directory, ".pmctl", "servers");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const [{ path, pid } = { path: "", pid: 0 }] = await serverSockets(directory, "acme");
    expect([statSync(path).mode & 0o777, pid]).toEqual([0o600, process.pid]);
    expect(await serverSockets(directory, "ac")).toEqual([]);
    await stop();
    expect(sockets()).toEqual([]);
  });

  test("has a short path also where the directory's is long", async () => {
    const deep = join(directory, "d".repeat(60), "e".repeat(40));
    mkdirSync(deep, { recursive: true });
    await serve({}, "served", deep);
    const folder = serversFolder(deep, "acme");
    closing.push(() => rm(folder, { recursive: true, force: true }));
    expect(folder).toMatch(/^\/tmp\/pmctl-[0-9a-f]{12}$/);
    symlinkSync(deep, join(directory, "link"));
    for (const at of [deep, join(directory, "link")])
      expect((await serversHere({ ...tenant(), directory: at })).servers).toHaveLength(1);
  });

  test("of a process that was killed refuses the connection: it counts for nothing, and the next server removes it", async () => {
    const script = 'require("node:net").createServer().listen(process.argv[1], () => console.log("on"))';
    await (await serve())();
    const child = spawn(process.execPath, ["-e", script, join(serversFolder(directory, "acme"), "acme.99-1")]);
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(sockets()).toEqual(["acme.99-1"]);
    expect(await choose()).toEqual(DATABASE);
    await serve();
    expect(sockets()).toEqual([expect.stringContaining(`acme.${process.pid}-`)]);
  });

  test("is believed only in a folder of this user's or root's that is closed to others", async () => {
    await serve();
    const folder = serversFolder(directory, "acme");
    chmodSync(folder, 0o755);
    const text = "the process at its socket is not proven to be the server of acme";
    const { door, notes } = await choose();
    expect([door, notes]).toEqual([
      { kind: "db" },
      [expect.stringContaining(`${text}: going straight to the database; `)],
    ]);
    await expect(choose("http")).rejects.toMatchObject({
      code: "SERVER_UNPROVEN",
      message: expect.stringContaining(text),
    });
    chmodSync(folder, 0o700);
    expect((await choose()).door).toMatchObject({ kind: "http" });
  });

  test.runIf(isRoot)(
    "of another user's folder is not believed by root, unless that user owns the state directory",
    async () => {
      await serve();
      chownSync(serversFolder(directory, "acme"), STRANGER, STRANGER);
      await expect(choose("http")).rejects.toMatchObject({ code: "SERVER_UNPROVEN" });
      chownSync(join(directory, ".pmctl"), STRANGER, STRANGER);
      expect((await choose("http")).door).toMatchObject({ kind: "http" });
    },
  );
});

describe("choosing the door", () => {
  test("a running server of the tenant is preferred, else the database", async () => {
    expect(await choose()).toEqual(DATABASE);
    await serve();
    const { door, notes } = await choose();
    expect([door, notes]).toMatchObject([{ kind: "http", url: URL_OF_TRADERS, asked: false }, []]);
    expect((await choose("http")).door).toMatchObject({ asked: true });
    expect(await choose("db")).toEqual(DATABASE);
    const answer = door.kind === "http" && (await door.fetch(`${door.url}/anything`));
    expect(answer && (await answer.text())).toBe("served");
  });

  test("of several servers any that answers is taken; a door stays open over a restart", async () => {
    const stop = await serve({}, "first");
    const { door } = await choose("http");
    const ask = async () => door.kind === "http" && (await door.fetch(door.url)).text();
    expect(await ask()).toBe("first");
    await stop();
    await expect(ask()).rejects.toThrow();
    await serve({}, "second");
    expect(await ask()).toBe("second");
  });

  test("of several servers the newest is taken, although its process id is lower", async () => {
    await serve();
    const folder = serversFolder(directory, "acme");
    const older = createNetServer();
    closing.push(() => older.close());
    await once(older.listen(join(folder, "acme.32767-1")), "listening");
    const newer = createNetServer();
    closing.push(() => newer.close());
    await once(newer.listen(join(folder, "acme.2-1")), "listening");
    const pids = (await serverSockets(directory, "acme")).map(({ pid }) => pid);
    expect(pids).toEqual([2, 32767, process.pid]);
  });

  test("a server with another audit key is another environment's; a rotated key is ours", async () => {
    const stop = await serve({ auditKeyId: auditKey("STAGING_KEY").id });
    expect(await choose()).toEqual(DATABASE);
    await stop();
    for (const auditKeyId of [auditKey("OLD_KEY").id, null]) {
      const end = await serve({ auditKeyId });
      expect((await choose()).door).toMatchObject({ kind: "http" });
      await end();
    }
  });

  test("a server that cannot serve the tenant now is passed by with its reason", async () => {
    await serve({ problem: "it was never applied" });
    const said = "The server of acme at predict.acme.example:8443 cannot serve it (it was never applied)";
    expect((await choose()).notes).toEqual([expect.stringContaining(`${said}: going straight to the database`)]);
    await expect(choose("http")).rejects.toMatchObject({ code: "UNREACHABLE", message: expect.stringContaining(said) });
  });

  test("a server that runs and stays silent is passed by after 5 s, and the operator is told", async () => {
    await (await serve())();
    const silent = createNetServer(() => {}).listen(join(serversFolder(directory, "acme"), "acme.77-1"));
    closing.push(() => silent.close());
    await once(silent, "listening");
    const said = "The server of acme (process 77) runs, but did not answer within 5 s";
    const [passed] = await Promise.all([choose(), expect(choose("http")).rejects.toThrow(said)]);
    expect(passed).toMatchObject({ door: { kind: "db" }, notes: [expect.stringContaining(said)] });
  });

  test("a server.host that is another machine needs TLS, unless a server runs here or the database is asked for", async () => {
    for (const host of ["192.0.2.1", "no-such-host.invalid"])
      for (const via of ["auto", "http"] as const)
        await expect(choose(via, { host, port: 8123 })).rejects.toThrow(ConfigError);
    expect(await choose("db", { host: "192.0.2.1" })).toEqual(DATABASE);
    for (const host of ["localhost", "::1", "::", "0.0.0.0", "127.0.0.2"])
      expect(await choose("auto", { host })).toEqual(DATABASE);
    await serve();
    expect((await choose("auto", { host: "192.0.2.1" })).door).toMatchObject({ kind: "http" });
  });

  test("http without a server is UNREACHABLE; --url is taken without a request; contradictions are refused", async () => {
    await expect(choose("http")).rejects.toMatchObject({ code: "UNREACHABLE" });
    const url = "https://predict.acme.example";
    const by = (options: Partial<DoorOptions>) => chooseDoor(tenant(), { via: "auto", ...options });
    expect(await by({ url: `${url}/` })).toMatchObject({ kind: "http", url, asked: true });
    await expect(by({ via: "db", url })).rejects.toMatchObject({ code: "USAGE" });
    for (const wrong of ["predict.acme.example", "ftp://x", "https://key@x.example", "https://x.example/?key=1"])
      await expect(by({ url: wrong })).rejects.toMatchObject({ code: "USAGE" });
    await expect(by({ fleetUrl: "http://127.0.0.1:8080" })).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("The url of acme in fleet.yaml must begin with https://"),
    });
  });

  test("the tenant's variable names its usual server: --url and --via db win over it, and an empty one is none", async () => {
    const url = "https://predict.acme.example";
    const env = (value: string) => vi.stubEnv("PMCTL_URL_ACME", value);
    vi.stubEnv("PMCTL_URL_B", `${url}/b`);
    env(`${url}/`);
    for (const via of ["auto", "http"] as const) expect((await choose(via)).door).toMatchObject({ url, asked: true });
    expect(await chooseDoor(tenant(), { via: "auto", url: `${url}/a` })).toMatchObject({ url: `${url}/a` });
    expect(await choose("db")).toEqual(DATABASE);
    env("predict.acme.example");
    await expect(choose()).rejects.toThrow("PMCTL_URL_ACME must be an address");
    env("http://predict.acme.example");
    await expect(choose()).rejects.toThrow("PMCTL_URL_ACME must begin with https://");
    env("");
    expect(await choose()).toEqual(DATABASE);
  });

  test("a variable of .env names no server, and is said to be ignored where the process has none", async () => {
    await writeFile(join(directory, ".env"), "PMCTL_URL_ACME=https://evil.example\nPMCTL_URL_B=https://evil.example\n");
    expect(await choose()).toEqual({
      door: { kind: "db" },
      notes: [expect.stringMatching(/^PMCTL_URL_ACME of \.env is ignored: set it for the process/)],
    });
    vi.stubEnv("PMCTL_URL_ACME", "https://predict.acme.example");
    expect((await choose()).notes).toEqual([]);
    expect(existsSync(join(directory, ".pmctl"))).toBe(false);
  });
});
