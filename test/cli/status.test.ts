import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createServersFolder } from "../../src/state/server-sockets.ts";
import { newOperator, type Operator } from "../support/operator.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  expect((await operator.run("apply", "acme")).exitCode).toBe(0);
});
afterAll(() => operator?.close());

const json = async (...words: string[]) => {
  const { exitCode, stdout, stderr } = await operator.run(...words, "-o", "json");
  return { exitCode, stderr, shown: stdout === "" ? undefined : JSON.parse(stdout) };
};
const checkOf = async (check: string) =>
  (await json("doctor", "acme")).shown.checks.find((each: { check: string }) => each.check === check);
const UNSERVED = expect.stringMatching(/No server runs for it, and server\.expected is true/);

async function expectUnserved(): Promise<void> {
  expect(await json("health")).toMatchObject({ exitCode: 9, shown: undefined });
  expect(await checkOf("server")).toMatchObject({ status: "fail", found: UNSERVED });
  const { exitCode, shown } = await json("inbox");
  expect([exitCode, shown[0]]).toMatchObject([9, { kind: "unreachable", severity: "critical", title: UNSERVED }]);
  expect(await json("status")).toMatchObject({
    exitCode: 0,
    shown: [{ tenant: "acme", servers: [], critical: UNSERVED }],
  });
}

test("a tenant without a running server is out of order where its file expects one: before the first start and after kill -9", async () => {
  await expectUnserved();
  const startedAt = Date.now();
  const server = await operator.serve("acme");
  expect(await json("health")).toMatchObject({ exitCode: 0, shown: { ok: true } });
  expect(await checkOf("health")).toMatchObject({ status: "ok" });
  expect(await json("inbox")).toMatchObject({ exitCode: 0 });
  expect(await json("health", "acme")).toMatchObject({ exitCode: 0, shown: { ok: true } });
  expect(await json("health", "nobody")).toMatchObject({ exitCode: 5 });
  const { stdout: shown } = await operator.run("status", "-o", "table");
  expect(shown).toContain(server.url);
  const { stdout: rows } = await operator.run("doctor", "acme", "-o", "tsv");
  expect(rows.split("\n").filter((row) => row.split("\t")[1] === "health")).toHaveLength(1);
  // `init` writes an address that cannot be registered, so a page loads the widget from the server.
  expect((await json("embed", "snippet")).shown.scriptUrl).toBe(`${server.url}/assets/v1/embed.js`);
  const { pid } = server.child;
  const [line] = (await json("status", "acme")).shown;
  expect(line).toMatchObject({
    ...{ tenant: "acme", servers: [{ url: server.url, pid, version: expect.any(String) }] },
    ...{ lastTradeAt: null, lastBackupAt: null, waiting: 0, critical: null },
    serving: { servers: [{ url: server.url, work: expect.arrayContaining(["oracle"]) }], lastBackup: { at: null } },
  });
  expect(line.serving.answeredBy).toBe(line.serving.servers[0].server);
  expect(Date.parse(line.servers[0].since)).toBeGreaterThanOrEqual(startedAt);
  const second = await operator.serve("acme");
  const known = (await json("status", "acme")).shown[0].serving.servers;
  expect(known.map(({ url }: { url: string }) => url).toSorted()).toEqual([server.url, second.url].toSorted());
  await second.kill("SIGKILL");
  await server.kill("SIGKILL");
  await expectUnserved();
  await writeFile(
    join(operator.directory, "fleet.yaml"),
    "version: 1\nwaves: [{ name: all, tenants: [acme], gate: { doctor: true } }]\n",
  );
  const applied = await operator.run("fleet", "apply", "--yes", "-o", "json");
  expect([applied.exitCode === 0, applied.stdout + applied.stderr]).toEqual([false, UNSERVED]);
});

test("a port that is held is named with its holder, and the remedy takes a free one", async () => {
  const other = createServer();
  await once(other.listen(0, "127.0.0.1"), "listening");
  const { port } = other.address() as AddressInfo;
  await operator.edit("acme", (text) => text.replace("expected: true", `expected: true, port: ${port}, opsPort: 0`));
  const { shown } = await json("inbox");
  const holder = process.platform === "linux" ? `node, process ${process.pid}` : "another program";
  expect(shown[0]).toMatchObject({
    kind: "unreachable",
    title: expect.stringMatching(new RegExp(`^No server runs for it, .*; port ${port} is held by ${holder}$`)),
    commands: [expect.stringMatching(/^pmctl serve acme --port \d+$/)],
  });
  expect(shown[0].commands[0]).not.toMatch(new RegExp(`--port ${port}$`));
  expect(await checkOf("server")).toMatchObject({ commands: shown[0].commands });
  await operator.run("init", "zoe");
  const sockets = await createServersFolder(operator.directory, "acme");
  await writeFile(join(sockets, `zoe.${process.pid}-1`), "");
  if (process.platform === "linux")
    expect((await checkOf("server")).found).toContain(
      `port ${port} is held by the server of zoe, process ${process.pid}`,
    );
  await rm(join(operator.directory, "tenants", "zoe"), { recursive: true });
  other.close();
  expect((await json("inbox")).shown[0]).toMatchObject({ title: UNSERVED, commands: ["pmctl serve acme"] });
  await operator.edit("acme", (text) => text.replace(`, port: ${port}, opsPort: 0`, ""));
});

test("a server that runs and does not answer is named by its process, and no second one is offered", async () => {
  const silent = createServer();
  const sockets = await createServersFolder(operator.directory, "acme");
  await once(silent.listen(join(sockets, `acme.${process.pid}-1`)), "listening");
  const title = `Its server, process ${process.pid}, does not answer`;
  expect((await json("inbox")).shown[0]).toMatchObject({ kind: "unreachable", title, commands: ["pmctl doctor acme"] });
  expect(await checkOf("server")).toMatchObject({
    found: title,
    remedy: expect.stringContaining("Read its log"),
    commands: [],
  });
  silent.close();
});

test("health asks a server, and nothing else", async () => {
  expect(await json("health", "--via", "db")).toMatchObject({ exitCode: 6 });
});

test("deploy render needs server.expected, and names its line", async () => {
  const file = join(operator.directory, "tenants", "acme", "tenant.yaml");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace("expected: true", "expected: false"));
  const { exitCode, stderr } = await operator.run("deploy", "render", "--target", "systemd");
  expect([exitCode, stderr]).toEqual([
    6,
    expect.stringMatching(/tenant\.yaml:\d+:\d+ {2}server\.expected {2}must be true/),
  ]);
  expect((await json("inbox")).exitCode).toBe(0);
  expect(await checkOf("server")).toMatchObject({ status: "skipped" });
  await writeFile(file, text);
});

describe("beside a server that has the right values", () => {
  beforeAll(async () => {
    await operator.serve("acme");
  });

  test("under another log's audit key doctor names the key first, and advises on nothing that follows from it", async () => {
    const wrong = { ACME_AUDIT_KEY: "w".repeat(44) };
    const { stdout } = await operator.runWith(wrong, "doctor", "acme", "-o", "json");
    const checks = (
      JSON.parse(stdout).checks as { tenant: string | null; check: string; status: string; found: string }[]
    ).filter(({ tenant }) => tenant === "acme");
    expect(checks[0]).toMatchObject({
      check: "audit key",
      status: "fail",
      found: expect.stringContaining("ACME_AUDIT_KEY is not"),
    });
    expect(checks.filter(({ status }) => status === "fail")).toHaveLength(1);
    const told = checks.filter(({ status }) => status === "warn").map(({ check }) => check);
    expect(told).not.toContain("anchors");
  });

  test("an admin key that the server does not know is named by its variable, with the way by the database", async () => {
    const wrong = { ACME_ADMIN_KEY: `sk_${"w".repeat(43)}` };
    const { exitCode, stderr } = await operator.runWith(wrong, "market", "list", "--via", "http");
    expect([exitCode, stderr]).toEqual([4, expect.stringMatching(/ACME_ADMIN_KEY.*--via db/)]);
    const { stdout } = await operator.runWith(wrong, "doctor", "acme", "-o", "json");
    expect(JSON.parse(stdout).checks).toContainEqual(
      expect.objectContaining({ check: "admin key", status: "fail", found: expect.stringContaining("ACME_ADMIN_KEY") }),
    );
  });
});

test("warnings about how a tenant is set up are one line on a screen", async () => {
  const { stdout } = await operator.run("doctor", "acme", "-o", "table");
  const warnings = stdout.split("\n").filter((line) => line.startsWith("WARN  acme"));
  expect(warnings.filter((line) => /webhook secrets|archive|backup|replication/.test(line))).toHaveLength(1);
});

test("a server that ends says that its embedded database goes on, and how to stop it", async () => {
  const server = await operator.serve("acme");
  expect(await server.kill("SIGINT")).toBe(130);
  expect(server.errors()).toMatch(/The embedded database is still running: (npx )?pmctl db stop stops it\n$/);
});
