import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { chooseDoor } from "../../src/app/doors/choose-door.ts";
import { findServers, removeRunFile, writeRunFile } from "../../src/app/doors/run-file.ts";
import { tenantFetch } from "../../src/app/doors/trust.ts";
import type { OperatorTenant } from "../../src/app/tenant/operator-tenant.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { proving } from "../../src/server/server-proof.ts";
import { makePair } from "../support/certificates.ts";

let directory: string;
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  directory = await mkdtemp("/tmp/pmctl-run-");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const close of closing.splice(0)) await close();
  await rm(directory, { recursive: true, force: true });
});

const SECRET = "s".repeat(43);
const NOWHERE = "http://127.0.0.1:1";
const here = { pid: process.pid, url: "http://127.0.0.1:1234", opsUrl: NOWHERE, secret: SECRET };

describe("run files", () => {
  test("a server is found while its process lives, by its own tenant only", async () => {
    const file = await writeRunFile(directory, "acme", here);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await findServers(directory, "acme")).toEqual([here]);
    expect(await findServers(directory, "ac")).toEqual([]);
    await removeRunFile(directory, "acme", process.pid);
    await removeRunFile(directory, "acme", process.pid);
    expect(await findServers(directory, "acme")).toEqual([]);
  });

  test("a secret counts only while nobody but the owner can read the file, and enter its folder", async () => {
    const file = await writeRunFile(directory, "acme", { ...here, auditKeyId: "ak_0" });
    const { secret, ...known } = here;
    for (const [path, wide, narrow] of [
      [file, 0o644, 0o600],
      [join(directory, ".pmctl", "servers"), 0o755, 0o700],
    ] as const) {
      await chmod(path, wide);
      expect(await findServers(directory, "acme")).toEqual([{ ...known, auditKeyId: "ak_0" }]);
      await chmod(path, narrow);
      expect(await findServers(directory, "acme")).toEqual([{ ...here, auditKeyId: "ak_0" }]);
    }
    await chmod(join(directory, ".pmctl", "servers"), 0o777);
    await writeRunFile(directory, "acme", { ...here, secret: "short" });
    expect((await stat(join(directory, ".pmctl", "servers"))).mode & 0o777).toBe(0o700);
    expect(await findServers(directory, "acme")).toEqual([known]);
  });

  test("tenants whose names begin alike are not mixed up", async () => {
    await writeRunFile(directory, "acme-2", here);
    expect(await findServers(directory, "acme")).toEqual([]);
    expect(await findServers(directory, "acme-2")).toEqual([here]);
  });

  test("the file of a process that was killed is taken away", async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    const file = await writeRunFile(directory, "acme", { ...here, pid: child.pid ?? 0 });
    expect(await findServers(directory, "acme")).toHaveLength(1);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await findServers(directory, "acme")).toEqual([]);
    expect(existsSync(file)).toBe(false);
  });

  test("a directory without servers, and a file that holds nonsense, are no errors", async () => {
    expect(await findServers(directory, "acme")).toEqual([]);
    await mkdir(join(directory, ".pmctl", "servers"), { recursive: true });
    await writeFile(join(directory, ".pmctl", "servers", `acme-${process.pid}.json`), "{");
    expect(await findServers(directory, "acme")).toEqual([]);
  });
});

describe("choosing the door", () => {
  async function listen(answer: RequestListener, pair?: { cert: string; key: string }): Promise<string> {
    const server = pair ? createTlsServer(pair, answer) : createServer(answer);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `${pair ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** An operations listener that says it serves `tenant`, after `delayMs`. */
  const livez = (tenant: string, delayMs = 0, auditSecret?: string, scheme?: string): Promise<string> =>
    listen((_, response) => {
      if (scheme !== undefined) response.setHeader("api-scheme", scheme);
      if (auditSecret !== undefined) response.setHeader("audit-key-id", auditKey(auditSecret).id);
      setTimeout(() => response.end(JSON.stringify({ ok: true, tenant })), delayMs).unref();
    });

  /** An API that proves itself after `delayMs`. */
  function api(tenant: string, delayMs = 0, secret = SECRET): Promise<string> {
    const prove = proving((_, response) => response.end(), tenant, secret);
    return listen((request, response) => void setTimeout(() => prove(request, response), delayMs).unref());
  }

  const portOf = (url: string) => Number(new URL(url).port);

  function tenant(server: object = { host: "127.0.0.1", port: 0, opsPort: 0 }): OperatorTenant {
    const audit = { key: { env: "KEY" }, previous: [{ env: "OLD_KEY" }] };
    const secret = ({ env }: { env: string }) => env;
    const source = { directory, problems: (problems: object[]) => problems };
    const config = {
      baseUrl: "http://localhost",
      server: { opsHost: "127.0.0.1", hosts: [], adminHosts: [], ...server },
      audit,
      source,
      keys: { admin: [] },
    };
    return { id: "acme", directory, config, secret } as unknown as OperatorTenant;
  }

  async function choose(via: "auto" | "http" = "auto", server?: object) {
    const notes: string[] = [];
    return { door: await chooseDoor(tenant(server), via, undefined, (note) => notes.push(note)), notes };
  }

  const unproven = (url: string) => `the process at ${new URL(url).host} is not proven to be the server of acme`;

  test("a running server of the tenant is preferred, else the database", async () => {
    expect(await choose()).toEqual({ door: { kind: "db" }, notes: [] });
    const url = await api("acme");
    await writeRunFile(directory, "acme", { ...here, url });
    expect(await choose()).toEqual({ door: { kind: "http", url, proven: true }, notes: [] });
    expect((await choose("http")).door).toEqual({ kind: "http", url, proven: true, asked: true });
    expect(await chooseDoor(tenant(), "db", undefined)).toEqual({ kind: "db" });
  });

  test("a process that took over the pid, the port or the name is not talked to: said, and with http refused", async () => {
    const stranger = await livez("acme");
    for (const url of [await api("globex"), await api("acme", 0, "t".repeat(43)), stranger]) {
      await writeRunFile(directory, "acme", { ...here, url, opsUrl: stranger });
      expect(await choose()).toEqual({
        door: { kind: "db" },
        notes: [`${unproven(url)}: going straight to the database`],
      });
      await expect(choose("http")).rejects.toMatchObject({ code: "SERVER_UNPROVEN", message: unproven(url) });
    }
  });

  test("a door stays open over a restart, which brings another secret, and closes for a process without one", async () => {
    const start = async (secret: string, port = 0) => {
      const answer: RequestListener = (_, response) => response.setHeader("connection", "close").end("served");
      const server = createServer(proving(answer, "acme", secret));
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return server;
    };
    const stop = async (server: Server) => {
      server.closeAllConnections();
      await once(server.close(), "close");
    };
    const first = await start(SECRET);
    const { port } = first.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    await writeRunFile(directory, "acme", { ...here, url });
    const fetch = await tenantFetch(tenant(), { url, proven: true });
    const ask = async () => (await fetch(url)).text();
    expect(await ask()).toBe("served");
    await stop(first);
    const second = await start("t".repeat(43), port);
    await expect(ask()).rejects.toMatchObject({ cause: { code: "SERVER_UNPROVEN" } });
    await writeRunFile(directory, "acme", { ...here, url, secret: "t".repeat(43) });
    expect(await ask()).toBe("served");
    await removeRunFile(directory, "acme", here.pid);
    await stop(second);
    const third = await start(SECRET, port);
    await expect(ask()).rejects.toMatchObject({ cause: { code: "SERVER_UNPROVEN" } });
    await stop(third);
  });

  test("a run file of an older server, which holds no secret, proves nothing", async () => {
    const { secret, ...old } = here;
    const url = await api("acme");
    await writeRunFile(directory, "acme", { ...old, url, opsUrl: await livez("acme") });
    const older = `a server of acme of an older version runs at ${new URL(url).host} (process ${old.pid}) and cannot prove itself: start it again with this version`;
    expect((await choose()).notes).toEqual([`${older}: going straight to the database`]);
    await expect(choose("http")).rejects.toMatchObject({ code: "SERVER_UNPROVEN", message: older });
    await writeRunFile(directory, "acme", { ...old, url, opsUrl: await livez("globex") });
    expect(await choose()).toEqual({ door: { kind: "db" }, notes: [] });
  });

  test("a server of the same tenant name with another audit key is another environment's; a rotated key is ours", async () => {
    const url = await api("acme");
    await writeRunFile(directory, "acme", { ...here, url, auditKeyId: auditKey("STAGING_KEY").id });
    expect(await choose()).toEqual({ door: { kind: "db" }, notes: [] });
    for (const ours of ["KEY", "OLD_KEY"]) {
      await writeRunFile(directory, "acme", { ...here, url, auditKeyId: auditKey(ours).id });
      expect((await choose()).door).toEqual({ kind: "http", url, proven: true });
    }
  });

  test("a server that is busy for a second is waited for; a refused connection is no wait at all", async () => {
    const url = await api("acme", 1000);
    await writeRunFile(directory, "acme", { ...here, url });
    expect((await choose()).door).toEqual({ kind: "http", url, proven: true });
    await writeRunFile(directory, "acme", { ...here, url: NOWHERE });
    expect(await choose()).toEqual({ door: { kind: "db" }, notes: [] });
  });

  test("a server that runs and stays silent is passed by after 5 s, and the operator is told", async () => {
    await writeRunFile(directory, "acme", { ...here, url: await api("acme", 600_000) });
    const silence = `The server of acme (process ${process.pid}) runs and did not answer within 5 s`;
    await Promise.all([
      expect(choose()).resolves.toEqual({
        door: { kind: "db" },
        notes: [`${silence}: going straight to the database`],
      }),
      expect(choose("http")).rejects.toThrow(silence),
    ]);
  });

  test("a server that answers is not made to wait for another program's port that stays silent", async () => {
    const opsPort = portOf(await livez("acme", 600_000));
    const url = await api("acme");
    await writeRunFile(directory, "acme", { ...here, url });
    const startedAt = performance.now();
    expect((await choose("auto", { host: "127.0.0.1", port: 8123, opsPort })).door).toMatchObject({ url });
    expect(performance.now() - startedAt).toBeLessThan(1900);
  });

  test("a port of the tenant file that accepts and stays silent is no server", async () => {
    const opsPort = portOf(await livez("acme", 600_000));
    expect(await choose("auto", { host: "127.0.0.1", port: 8123, opsPort })).toEqual({
      door: { kind: "db" },
      notes: [],
    });
  });

  test("what answers at the ports of the tenant file is not believed: only this directory's own certificate counts", async () => {
    const [pair, other] = [await makePair(), await makePair()];
    await mkdir(join(directory, ".pmctl", "tls"), { recursive: true });
    await writeFile(join(directory, ".pmctl", "tls", "acme.crt"), pair.cert);
    await writeFile(join(directory, "site.crt"), other.cert);
    const tls = { cert: "site.crt", key: { file: "site.key" } };
    const [ours, theirs] = [await listen((_, response) => response.end(), pair), await listen(() => {}, other)];
    const opsPort = portOf(await livez("acme", 0, undefined, "http"));
    const at = (url: string, more = {}) => ({ host: "127.0.0.1", port: portOf(url), opsPort, ...more });
    expect((await choose("auto", at(ours, { tls }))).door).toEqual({ kind: "http", url: ours });
    const plain = await listen((_, response) => response.end("[]"));
    for (const [url, more] of [
      [theirs, { tls }],
      [plain, { tls }],
      [plain, {}],
    ] as const) {
      const { door, notes } = await choose("auto", at(url, more));
      expect([door, notes]).toEqual([{ kind: "db" }, [`${unproven(url)}: going straight to the database`]]);
      await expect(choose("http", at(url, more))).rejects.toMatchObject({ code: "SERVER_UNPROVEN" });
    }
  });

  test("the server says that its port speaks TLS, where the tenant file does not", async () => {
    const pair = await makePair();
    await mkdir(join(directory, ".pmctl", "tls"), { recursive: true });
    await writeFile(join(directory, ".pmctl", "tls", "acme.crt"), pair.cert);
    const url = await listen((_, response) => response.end(), pair);
    const opsPort = portOf(await livez("acme", 0, undefined, "https"));
    const server = { host: "0.0.0.0", port: portOf(url), opsPort };
    expect((await choose("auto", server)).door).toEqual({ kind: "http", url });
  });

  test("a server.host that is another machine needs TLS, unless a server runs here or the database is asked for", async () => {
    const server = { host: "192.0.2.1", port: 8123, opsPort: portOf(await livez("acme")) };
    for (const via of ["auto", "http"] as const) await expect(choose(via, server)).rejects.toThrow(ConfigError);
    await expect(choose("auto", { ...server, host: "no-such-host.invalid" })).rejects.toThrow(ConfigError);
    expect(await chooseDoor(tenant(server), "db", undefined)).toEqual({ kind: "db" });
    await writeRunFile(directory, "acme", { ...here, url: await api("acme") });
    expect((await choose("auto", server)).door).toMatchObject({ proven: true });
    for (const host of ["localhost", "::1", "::", "0.0.0.0", "127.0.0.2"]) {
      await removeRunFile(directory, "acme", here.pid);
      expect((await choose("auto", { host, port: 0, opsPort: 0 })).door).toEqual({ kind: "db" });
    }
  });

  test("http without a server is UNREACHABLE; --url needs no probe; contradictions are refused", async () => {
    await expect(chooseDoor(tenant(), "http", undefined)).rejects.toMatchObject({ code: "UNREACHABLE" });
    const url = "https://predict.acme.example";
    expect(await chooseDoor(tenant(), "auto", `${url}/`)).toEqual({
      kind: "http",
      url,
      accepts: "stated",
      asked: true,
    });
    await expect(chooseDoor(tenant(), "db", url)).rejects.toMatchObject({ code: "USAGE" });
    for (const wrong of ["predict.acme.example", "ftp://x", "https://key@x.example", "https://x.example/?key=1"])
      await expect(chooseDoor(tenant(), "auto", wrong)).rejects.toMatchObject({ code: "USAGE" });
  });

  test("the tenant's variable names its usual server: --url and --via db win over it, and an empty one is none", async () => {
    const url = "https://predict.acme.example";
    const env = (value: string) => vi.stubEnv("PMCTL_URL_ACME", value);
    vi.stubEnv("PMCTL_URL_B", `${url}/b`);
    env(`${url}/`);
    for (const via of ["auto", "http"] as const)
      expect(await chooseDoor(tenant(), via, undefined)).toEqual({ kind: "http", url, asked: true });
    expect(await chooseDoor(tenant(), "auto", `${url}/a`)).toMatchObject({ url: `${url}/a` });
    expect(await chooseDoor(tenant(), "db", undefined)).toEqual({ kind: "db" });
    env("predict.acme.example");
    await expect(chooseDoor(tenant(), "auto", undefined)).rejects.toThrow("PMCTL_URL_ACME must be an address");
    for (const plain of ["http://predict.acme.example", await api("acme")]) {
      env(plain);
      await expect(chooseDoor(tenant(), "auto", undefined)).rejects.toMatchObject({
        code: "USAGE",
        message: expect.stringContaining("PMCTL_URL_ACME must begin with https://"),
      });
    }
    env("");
    expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "db" });
  });

  test("a variable of .env names no server, and is said to be ignored where the process has none", async () => {
    await writeFile(join(directory, ".env"), "PMCTL_URL_ACME=https://evil.example\nPMCTL_URL_B=https://evil.example\n");
    expect(await choose()).toEqual({
      door: { kind: "db" },
      notes: [expect.stringMatching(/^PMCTL_URL_ACME of \.env is ignored: set it for the process/)],
    });
    const url = "https://predict.acme.example";
    vi.stubEnv("PMCTL_URL_ACME", url);
    expect(await choose()).toEqual({ door: { kind: "http", url, asked: true }, notes: [] });
  });

  test("a run file that leads to another machine proves nothing, whatever answers there", async () => {
    const url = "https://evil.example";
    const { secret, ...old } = { ...here, url, opsUrl: await livez("acme") };
    await writeRunFile(directory, "acme", old);
    await expect(choose("http")).rejects.toMatchObject({ code: "SERVER_UNPROVEN" });
  });
});
