import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chooseDoor } from "../../src/cli/doors.ts";
import type { OperatorTenant } from "../../src/cli/operator-tenant.ts";
import { findServers, removeRunFile, writeRunFile } from "../../src/cli/run-file.ts";
import { auditKey } from "../../src/engine/seal.ts";

let directory: string;
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  directory = await mkdtemp("/tmp/pmctl-run-");
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await rm(directory, { recursive: true, force: true });
});

const here = { pid: process.pid, url: "http://127.0.0.1:1234", opsUrl: "http://127.0.0.1:1235" };

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
  /** An operations listener that says it serves `tenant`, after `delayMs`. */
  async function livez(tenant: string, delayMs = 0, auditSecret?: string, scheme?: string): Promise<string> {
    const server = createServer((_, response) => {
      if (scheme !== undefined) response.setHeader("api-scheme", scheme);
      if (auditSecret !== undefined) response.setHeader("audit-key-id", auditKey(auditSecret).id);
      setTimeout(() => response.end(JSON.stringify({ ok: true, tenant })), delayMs).unref();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  function tenant(server = { host: "127.0.0.1", port: 0, opsPort: 0 }): OperatorTenant {
    const audit = { key: { env: "KEY" }, previous: [{ env: "OLD_KEY" }] };
    const secret = ({ env }: { env: string }) => env;
    return { id: "acme", directory, config: { server, audit }, secret } as unknown as OperatorTenant;
  }

  test("a running server of the tenant is preferred, else the database", async () => {
    expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "db" });
    await writeRunFile(directory, "acme", { ...here, opsUrl: await livez("acme") });
    expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "http", url: here.url });
    expect(await chooseDoor(tenant(), "db", undefined)).toEqual({ kind: "db" });
  });

  test("a process that took over the pid or the port of another tenant's server is not talked to", async () => {
    await writeRunFile(directory, "acme", { ...here, opsUrl: await livez("globex") });
    expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "db" });
  });

  test("a server of the same tenant name with another audit key is another environment's; a rotated key is ours", async () => {
    await writeRunFile(directory, "acme", { ...here, opsUrl: await livez("acme", 0, "STAGING_KEY") });
    expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "db" });
    for (const ours of ["KEY", "OLD_KEY"]) {
      await writeRunFile(directory, "acme", { ...here, opsUrl: await livez("acme", 0, ours) });
      expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "http", url: here.url });
    }
  });

  test("a server that is busy for a second is waited for; a refused connection is no wait at all", async () => {
    await writeRunFile(directory, "acme", { ...here, opsUrl: await livez("acme", 1000) });
    expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "http", url: here.url });
    await writeRunFile(directory, "acme", { ...here, opsUrl: "http://127.0.0.1:1" });
    expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "db" });
  });

  test("a server that runs and stays silent is passed by after 5 s, and the operator is told", async () => {
    await writeRunFile(directory, "acme", { ...here, opsUrl: await livez("acme", 600_000) });
    const notes: string[] = [];
    const silence = `The server of acme (process ${process.pid}) runs and did not answer within 5 s`;
    await Promise.all([
      expect(chooseDoor(tenant(), "auto", undefined, (note) => notes.push(note))).resolves.toEqual({ kind: "db" }),
      expect(chooseDoor(tenant(), "http", undefined)).rejects.toThrow(silence),
    ]);
    expect(notes).toEqual([`${silence}: going straight to the database`]);
  });

  test("a server that answers is not made to wait for a port of somebody else's that stays silent", async () => {
    const opsPort = Number(new URL(await livez("acme", 600_000)).port);
    await writeRunFile(directory, "acme", { ...here, opsUrl: await livez("acme") });
    const found = await chooseDoor(tenant({ host: "127.0.0.1", port: 8123, opsPort }), "auto", undefined);
    expect(found).toEqual({ kind: "http", url: here.url });
  });

  test("a port of the tenant file that accepts and stays silent is no server", async () => {
    const opsPort = Number(new URL(await livez("acme", 600_000)).port);
    const found = await chooseDoor(tenant({ host: "127.0.0.1", port: 8123, opsPort }), "auto", undefined);
    expect(found).toEqual({ kind: "db" });
  });

  test("the server says what its port speaks, where no run file does", async () => {
    const opsPort = Number(new URL(await livez("acme", 0, undefined, "https")).port);
    const found = await chooseDoor(tenant({ host: "127.0.0.1", port: 8123, opsPort }), "auto", undefined);
    expect(found).toEqual({ kind: "http", url: "https://127.0.0.1:8123" });
  });

  test("nobody who answers there can make the key travel in the clear, where TLS was said before", async () => {
    const opsUrl = await livez("acme", 0, undefined, "http");
    const url = here.url.replace("http:", "https:");
    await writeRunFile(directory, "acme", { ...here, url, opsUrl });
    expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "http", url });
    await removeRunFile(directory, "acme", here.pid);
    const server = { host: "127.0.0.1", port: 8123, opsPort: Number(new URL(opsUrl).port), tls: {} };
    expect(await chooseDoor(tenant(server), "auto", undefined)).toEqual({
      kind: "http",
      url: "https://127.0.0.1:8123",
    });
  });

  test("a server where the file says one listens is found without a run file", async () => {
    const opsPort = Number(new URL(await livez("acme")).port);
    const found = await chooseDoor(tenant({ host: "0.0.0.0", port: 8123, opsPort }), "auto", undefined);
    expect(found).toEqual({ kind: "http", url: "http://127.0.0.1:8123" });
  });

  test("http without a server is UNREACHABLE; --url needs no probe; contradictions are refused", async () => {
    await expect(chooseDoor(tenant(), "http", undefined)).rejects.toMatchObject({ code: "UNREACHABLE" });
    const url = "https://predict.acme.example";
    expect(await chooseDoor(tenant(), "auto", `${url}/`)).toEqual({ kind: "http", url, asked: true });
    await expect(chooseDoor(tenant(), "db", url)).rejects.toMatchObject({ code: "USAGE" });
    for (const wrong of ["predict.acme.example", "ftp://x", "https://key@x.example", "https://x.example/?key=1"])
      await expect(chooseDoor(tenant(), "auto", wrong)).rejects.toMatchObject({ code: "USAGE" });
  });

  test("the tenant's variable names its usual server: --url and --via db win over it, and an empty one is none", async () => {
    const url = "https://predict.acme.example";
    const env = (value: string) =>
      writeFile(join(directory, ".env"), `PMCTL_URL_ACME=${value}\nPMCTL_URL_B=${url}/b\n`);
    await env(`${url}/`);
    for (const via of ["auto", "http"] as const)
      expect(await chooseDoor(tenant(), via, undefined)).toEqual({ kind: "http", url, asked: true });
    expect(await chooseDoor(tenant(), "auto", `${url}/a`)).toMatchObject({ url: `${url}/a` });
    expect(await chooseDoor(tenant(), "db", undefined)).toEqual({ kind: "db" });
    await env("predict.acme.example");
    await expect(chooseDoor(tenant(), "auto", undefined)).rejects.toThrow("PMCTL_URL_ACME must be an address");
    await env("");
    expect(await chooseDoor(tenant(), "auto", undefined)).toEqual({ kind: "db" });
  });
});
