import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { MAIN, operatorDirectory, pmctlHere, type TestDirectory } from "../cli/support/pmctl.ts";
import { tenantText } from "../config/support.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { type DeployDirectory, deployDirectory, documentsIn } from "./support.ts";

const SECRETS: Record<string, string> = {
  ACME_ADMIN_KEY: `sk_${"a".repeat(43)}`,
  ACME_PUBLIC_KEY: `pk_${"p".repeat(43)}`,
  ACME_JWT_SECRET: "j".repeat(32),
  ACME_AUDIT_KEY: "k".repeat(32),
};

let directory: DeployDirectory;
let database: TestDatabase;
let urls: Record<string, string>;
beforeAll(async () => {
  database = await createTestDatabase();
  urls = { ACME_DATABASE_URL: database.serverUrl, ACME_OWNER_URL: database.url };
  directory = await deployDirectory({
    "tenants/acme/tenant.yaml": tenantText({
      server: "{ port: 0, opsPort: 0, drainSeconds: 1, expected: true }",
      database: "{ url: { env: ACME_DATABASE_URL }, ownerUrl: { env: ACME_OWNER_URL } }",
    }),
  });
});
afterAll(async () => {
  await directory.remove();
  await database.drop();
});

/** The variables of these names alone, as an engine hands them on. */
const variables = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { ...SECRETS, ...urls }[name] ?? ""]));

test("the pods' files and first container make the tenant; the unit's server serves it, is healthy as Compose asks, and drains; the backup unit backs it up", async () => {
  for (const target of ["kubernetes", "compose"]) expect((await directory.render("--target", target)).code).toBe(0);
  const [{ data }, { spec }] = documentsIn(await directory.read("deploy/kubernetes/acme.yaml"));
  const pod: TestDirectory = await operatorDirectory({ cluster: "none" });
  onTestFinished(() => pod.remove());
  await mkdir(join(pod.cwd, "tenants/acme"), { recursive: true });
  await writeFile(join(pod.cwd, "tenants/acme/tenant.yaml"), data["tenant.yaml"]);
  const [{ args, env }] = spec.template.spec.initContainers;
  const applied = await pmctlHere(args, {
    cwd: pod.cwd,
    env: variables(env.map(({ name }: { name: string }) => name)),
  });
  expect([applied.code, applied.stderr]).toEqual([0, expect.any(String)]);

  const program = join(directory.cwd, "pmctl");
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  await chmod(program, 0o755);
  expect((await directory.render("--target", "systemd", "--bin", program, "--dir", directory.cwd)).code).toBe(0);
  const unit = await directory.read("deploy/systemd/pmctl-acme.service");
  const { child, opsUrl } = await start(unit);
  expect((await fetch(`${opsUrl}/readyz`)).status).toBe(200);

  const { services } = documentsIn(await directory.read("deploy/compose/compose.yaml"))[0];
  const [, , ...check] = services.acme.healthcheck.test as string[];
  const healthy = (url: string) =>
    spawnSync(
      process.execPath,
      check.map((word) => word.replace("http://127.0.0.1:9464", url)),
    ).status;
  expect(healthy(opsUrl)).toBe(0);
  child.kill("SIGTERM");
  await expect.poll(() => fetch(`${opsUrl}/readyz`).then(({ status }) => status)).toBe(503);
  expect(healthy(opsUrl)).toBe(1);
  expect(await once(child, "exit")).toEqual([0, null]);

  const backup = await directory.read("deploy/systemd/pmctl-backup-acme.service");
  const [, ...line] = command(backup);
  const { code, stdout } = await pmctlHere(line, { cwd: directory.cwd, env: variables(namesIn(backup)) });
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ tenant: "acme" })]);
});

const value = (unit: string, name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";
const command = (unit: string) => value(unit, "ExecStart").split(" ");
const namesIn = (unit: string) => [...unit.matchAll(/^# {3}(\w+)/gm)].map(([, name = ""]) => name);

/** Runs a unit's command where and with what the unit says; the server's login has no more. */
async function start(unit: string): Promise<{ child: ChildProcess; opsUrl: string }> {
  const [program = "", ...args] = command(unit);
  expect(namesIn(unit)).not.toContain("ACME_OWNER_URL");
  const child = spawn(program, [...args, "-o", "ndjson"], {
    cwd: value(unit, "WorkingDirectory"),
    env: { PATH: process.env.PATH, ...variables(namesIn(unit)) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(createInterface(child.stdout), "line");
  return { child, opsUrl: JSON.parse(String(line)).opsUrl };
}

/** Answers each connection with its name, as a database server greets. */
async function fakeNode(name: string, host: string, ports: { postgres: number; patroni: number }) {
  const state = { isPrimary: false };
  const patroni = createHttpServer((request, response) => {
    response.writeHead(request.url === "/primary" && state.isPrimary ? 200 : 503).end();
  });
  const postgres = createServer((socket) => socket.on("error", () => {}).write(name));
  await listening(patroni, ports.patroni, host);
  await listening(postgres, ports.postgres, host);
  onTestFinished(() => {
    patroni.closeAllConnections();
    for (const server of [patroni, postgres]) server.close();
  });
  return state;
}

async function listening(server: Server, port: number, host: string): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server, 0, "127.0.0.1");
  server.close();
  return port;
}

test.skipIf(!existsSync("/usr/sbin/haproxy"))(
  "HAProxy leads to the node whose Patroni is primary, and cuts connections to one that is none any more (skipped without haproxy)",
  async () => {
    const nodes = "a=127.0.0.1,b=127.0.0.2";
    expect((await directory.render("--target", "patroni", "--nodes", nodes)).code).toBe(0);
    const [postgres, patroni, front] = [await freePort(), await freePort(), await freePort()];
    const [a, b] = [
      await fakeNode("a", "127.0.0.1", { postgres, patroni }),
      await fakeNode("b", "127.0.0.2", { postgres, patroni }),
    ];
    a.isPrimary = true;
    // Of the text only the ports are other ones, so that a PostgreSQL of this machine is left alone.
    const text = (await directory.read("deploy/patroni/haproxy.cfg"))
      .replaceAll(":5432 ", `:${postgres} `)
      .replaceAll("port 8008", `port ${patroni}`)
      .replace("bind :5000", `bind 127.0.0.1:${front}`);
    const file = join(directory.cwd, "haproxy.cfg");
    await writeFile(file, text);
    const checked = spawnSync("haproxy", ["-c", "-q", "-f", file], { encoding: "utf8" });
    expect([checked.status, checked.stderr]).toEqual([0, ""]);
    const proxy = spawn("haproxy", ["-db", "-f", file], { stdio: "ignore" });
    onTestFinished(async () => {
      proxy.kill("SIGKILL");
      await once(proxy, "exit");
    });

    const greeting = () =>
      new Promise<{ name: string; ended: Promise<unknown> }>((resolve) => {
        const socket = connect(front, "127.0.0.1");
        const ended = new Promise((end) => socket.on("error", () => {}).once("close", () => end(true)));
        socket.once("data", (name) => resolve({ name: String(name), ended }));
        void ended.then(() => resolve({ name: "", ended }));
      });
    // HAProxy takes turns, and takes nodes for up until their first checks: two in a row leave one.
    const twoNames = async () => [(await greeting()).name, (await greeting()).name];
    await expect.poll(twoNames).toEqual(["a", "a"]);
    const held = await greeting();
    a.isPrimary = false;
    b.isPrimary = true;
    await held.ended;
    await expect.poll(twoNames).toEqual(["b", "b"]);
  },
);
