import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { wireFacts } from "../../src/contract/wire-facts.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { listenForCommands } from "../../src/server/command-socket.ts";
import { operatorDirectory, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/pmctl.js", import.meta.url));
const BUILT_FACTS = new URL("../../dist/contract/wire-facts.js", import.meta.url).href;
/** Prints the modules of packages that the program loads. */
const SHOW_PACKAGES = `import { registerHooks } from "node:module";
const packages = new Set();
registerHooks({ load(url, context, next) {
  const [, name] = /node_modules\\/([^/]+)/.exec(url) ?? [];
  if (name) packages.add(name);
  return next(url, context);
} });
process.on("exit", () => process.stderr.write("packages: " + [...packages].sort().join(" ") + "\\n"));`;

let directory: TestDirectory;
let cache: string;
let tenantFile: string;
let text: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  directory = await operatorDirectory({ cluster: "none" });
  await pmctlHere(["init", "acme"], directory);
  tenantFile = join(directory.cwd, "tenants/acme/tenant.yaml");
  text = readFileSync(tenantFile, "utf8");
  const [, key = ""] = /^ACME_AUDIT_KEY=(.*)$/m.exec(readFileSync(join(directory.cwd, ".env"), "utf8")) ?? [];
  const socket = await listenForCommands({
    directory: directory.cwd,
    tenant: "acme",
    facts: () => ({
      ...{ tenant: "acme", pid: process.pid, server: "s", version: "1", since: "2026-01-01T00:00:00.000Z" },
      ...{ url: "https://predict.acme.example", opsUrl: "", auditKeyId: auditKey(key).id, problem: null },
    }),
    page: async () => undefined,
    handle: (_, response) => response.end("[]"),
  });
  stop = async () => {
    const left = socket.leave();
    socket.destroy();
    await left;
  };
});
afterAll(async () => {
  await stop?.();
  await directory?.remove();
  rmSync(cache, { recursive: true, force: true });
});
beforeEach(() => {
  if (cache) rmSync(cache, { recursive: true, force: true });
  cache = mkdtempSync("/tmp/pmctl-cache-");
  writeFileSync(tenantFile, text);
});

/** Runs the built program with a cache of its own. */
async function list(env: Record<string, string> = {}) {
  const { PATH = "", HOME = "" } = process.env;
  const { exitCode, stdout, stderr } = await execa(process.execPath, [PROGRAM, "market", "list", "-o", "json"], {
    cwd: directory.cwd,
    env: { PATH, HOME, XDG_CACHE_HOME: cache, ...env },
    extendEnv: false,
    reject: false,
  });
  return { exitCode, stdout, stderr };
}

const SHOWING = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(SHOW_PACKAGES)}` };

/** The files with what texts mean. */
function kept(): string[] {
  return readdirSync(cache, { recursive: true, encoding: "utf8" })
    .filter((name) => /values\/[0-9a-f]{64}$/.test(name))
    .map((name) => join(cache, name));
}

test("the build has every operation's facts as plain data", async () => {
  expect((await import(BUILT_FACTS)).wireFacts).toEqual(wireFacts);
  expect(readFileSync(fileURLToPath(BUILT_FACTS), "utf8")).not.toContain("import");
});

test("a list through a server loads neither schemas nor YAML once a command has read the tenant file", async () => {
  const [first, second] = [await list(SHOWING), await list(SHOWING)];
  expect(first.stderr).toContain("packages: commander ipaddr.js yaml zod");
  expect(second.stderr).toMatch(/packages: commander ipaddr\.js$/);
  expect(second.stdout).toBe(first.stdout);
  expect({ first: first.exitCode, second: second.exitCode }).toEqual({ first: 0, second: 0 });
});

test("a file that was changed since is read as it is now, and its mistakes keep nothing", async () => {
  await list();
  const before = kept();
  writeFileSync(tenantFile, text.replace("version: 1", "version: 2"));
  const { exitCode, stderr } = await list();
  expect({ exitCode, stderr }).toEqual({
    exitCode: 6,
    stderr: expect.stringContaining("tenants/acme/tenant.yaml:3:10"),
  });
  expect(kept()).toEqual(before);
});

test("a missing secret is named with its line, though the file is known", async () => {
  await list();
  const { exitCode, stderr } = await list({ ACME_ADMIN_KEY: "" });
  expect(exitCode).toBe(6);
  expect(stderr).toContain("the environment variable ACME_ADMIN_KEY is empty (tenants/acme/tenant.yaml:11:");
});

test("what depends on more than the text is checked each time", async () => {
  await list();
  writeFileSync(join(directory.cwd, "pmctl.yaml"), "version: 1\ntenants: { acme-admin: {} }\n");
  try {
    const { exitCode, stderr } = await list();
    expect(exitCode).toBe(6);
    expect(stderr).toContain("the variable ACME_ADMIN_KEY belongs to the tenant acme-admin");
  } finally {
    rmSync(join(directory.cwd, "pmctl.yaml"));
  }
});

test("a torn file of the cache counts as missing", async () => {
  const first = await list();
  for (const file of kept()) writeFileSync(file, readFileSync(file).subarray(0, -7));
  expect(await list()).toEqual(first);
  expect((await list(SHOWING)).stderr).toMatch(/packages: commander ipaddr\.js$/);
});
