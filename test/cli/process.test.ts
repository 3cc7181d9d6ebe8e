import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withRateLimit, withServer } from "../support/tenant-text.ts";
import {
  DB_STATUS_FIELDS,
  MAIN,
  operatorDirectory,
  pmctl,
  pmctlHere,
  shell,
  type TestDirectory,
} from "./support/pmctl.ts";

let directory: TestDirectory;
let server: ChildProcess;
let serverUrl: string;

type Run = (args: readonly string[], env?: Record<string, string>) => ReturnType<typeof pmctl>;
const run: Run = (args, env) => pmctlHere(args, { cwd: directory.cwd, ...(env && { env }) });
/** For success and one refusal: what a command returns within this process is what its own process ends with. */
const runProcess: Run = (args, env) => pmctl(args, { cwd: directory.cwd, ...(env && { env }) });

/** The data of a command that must succeed. */
async function data<T>(args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await pmctlHere([...args, "-o", "json"], directory);
  if (code !== 0) throw new Error(`pmctl ${args.join(" ")} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** A directory with one applied tenant, and a server of it. */
beforeAll(async () => {
  directory = await operatorDirectory();
  await data(["init", "acme"]);
  const file = join(directory.cwd, "tenants/acme/tenant.yaml");
  const text = await readFile(file, "utf8");
  await writeFile(file, withServer(withRateLimit(text, 100_000)));
  await data(["apply", "acme"]);
  server = spawn(process.execPath, [MAIN, "serve", "acme", "-o", "ndjson"], {
    cwd: directory.cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(createInterface(server.stdout as NonNullable<typeof server.stdout>), "line");
  serverUrl = JSON.parse(String(line)).url;
});

afterAll(async () => {
  if (server?.kill()) await once(server, "exit");
  await directory?.remove();
});

describe("exit codes", () => {
  test("0 for what was done", async () => {
    expect(await runProcess(["market", "list"])).toMatchObject({ code: 0, stderr: "" });
  });

  test("3 for a tenant that was never applied", async () => {
    await data(["init", "globex"]);
    const { code, stderr } = await run(["-t", "globex", "market", "list", "--via", "db"]);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("pmctl apply globex") });
  });

  test("4 for a key that the server does not know", async () => {
    const env = { ACME_ADMIN_KEY: "sk_this_is_not_the_key_at_all_0123456789abcdefghi" };
    const { code, stdout, stderr } = await runProcess(["-t", "acme", "market", "list", "--via", "http"], env);
    expect({ code, stdout, stderr }).toEqual({ code: 4, stdout: "", stderr: expect.stringContaining("x-api-key") });
    expect(stderr).not.toContain("sk_this");
  });

  test("5 for a market, and a tenant, that is not there", async () => {
    expect((await run(["-t", "acme", "market", "show", "mkt_nowhere"])).code).toBe(5);
    expect((await run(["-t", "nobody", "market", "list"])).code).toBe(5);
  });

  test.each([
    ["an unknown command", ["markte"], "did you mean market?"],
    ["an unknown verb", ["market", "lst"], "did you mean list?"],
    ["a word of other tools", ["login"], "did you mean key list?"],
    ["a verb of other tools", ["market", "get"], "did you mean show?"],
    ["what stops the trading in a market", ["market", "close"], "did you mean suspend or settle?"],
    ["the same without its noun", ["close"], "did you mean market suspend or market settle?"],
    ["a word that nothing is near to", ["market", "frobnicate"], "pmctl market --help lists the commands"],
    ["an unknown option", ["market", "list", "--categroy", "x"], "Did you mean --category?"],
    ["a missing option", ["trade", "place"], "--market"],
    ["a bad value", ["market", "list", "--limit", "many"], "whole number"],
    ["a bad format", ["market", "list", "-o", "xml"], "table, json"],
    ["no tenant named where there are two", ["market", "list"], "PMCTL_TENANT"],
    ["a file that is not there", ["market", "create", "-f", "nowhere.yaml"], "does not exist"],
    ["a reason of several lines", ["-t", "acme", "market", "list", "--reason", "a\nb"], "--reason"],
    [
      "a confirmation without a terminal",
      ["market", "settle", "mkt_1", "--outcome", "yes", "--reason", "test"],
      "--yes",
    ],
    ["a policy change without a confirmation", ["policy", "set", "feeBps=1"], "--yes"],
  ])("6 for %s", async (_what, args, hint) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
    expect(stderr).toContain(hint);
  });

  test("6 for a secret that is not set, naming the variable and the line", async () => {
    const { code, stderr } = await run(["-t", "acme", "market", "list", "--via", "db"], { ACME_AUDIT_KEY: "" });
    expect({ code, stderr }).toEqual({
      code: 6,
      stderr: expect.stringMatching(/ACME_AUDIT_KEY.*tenants\/acme\/tenant\.yaml:\d+/),
    });
  });

  test("9 when no server answers", async () => {
    const { code, stdout, stderr } = await run(["-t", "globex", "market", "list", "--via", "http"]);
    expect({ code, stdout }).toEqual({ code: 9, stdout: "" });
    expect(stderr).toContain("globex");
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
    listener.close();
    await once(listener, "close");
    expect((await run(["-t", "acme", "market", "list", "--url", url])).code).toBe(9);
  });

  test("130 when it is interrupted, at once", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const child = spawn(process.execPath, [MAIN, "-t", "acme", "market", "list", "--url", url], { cwd: directory.cwd });
    await once(silent, "request");
    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([130, null]);
    silent.closeAllConnections();
    silent.close();
  });
});

describe("doors", () => {
  test("a user's token is the token alone, and the server takes it", async () => {
    const { code, stdout, stderr } = await run(["-t", "acme", "user", "token", "usr_7"]);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/),
      stderr: "",
    });
    const env = await readFile(join(directory.cwd, ".env"), "utf8");
    const publicKey = /^ACME_PUBLIC_KEY="?([^"\n]+)/m.exec(env)?.[1] ?? "";
    const response = await fetch(`${serverUrl}/v1/positions`, {
      headers: { "x-api-key": publicKey, authorization: `Bearer ${stdout.trim()}` },
    });
    expect(response.status).toBe(200);
  });
});

describe("pipes", () => {
  test("a reader that has seen enough ends nothing with an error", async () => {
    // The reader is gone long before anything is written.
    const early = await shell('pmctl -t acme audit list | true; echo "code $PIPESTATUS"', directory);
    expect(early).toMatchObject({ stdout: "code 0\n", stderr: "" });
    const { stdout, stderr } = await shell(
      'pmctl -t acme audit list --limit 1000 -o ndjson | head -1; echo "code $PIPESTATUS"',
      directory,
    );
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^\{.*\}\ncode 0\n$/);
  });

  test("a disk that is full is an error", async () => {
    const { code } = await shell("pmctl -t acme audit list > /dev/full", directory);
    expect(code).toBe(1);
  });

  test("a stdin that is closed altogether is no reason to fail", async () => {
    const { code, stderr } = await shell("pmctl -t acme market list <&- >/dev/null", directory);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("psql reads what is piped into the shell", async () => {
    const { code, stdout } = await pmctl(["-t", "acme", "db", "shell"], { ...directory, input: "select 40 + 2 as n;" });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("42") });
  });
});

describe("the embedded database", () => {
  test("status needs no tenant, and has exactly its nine fields", async () => {
    const named = await data<Record<string, unknown>>(["-t", "acme", "db", "status"]);
    expect(Object.keys(named)).toEqual(DB_STATUS_FIELDS);
    expect(named).toMatchObject({ running: true, url: expect.stringMatching(/\/acme$/) });
    expect(await data(["db", "status"])).toMatchObject({ url: expect.stringMatching(/\/postgres$/) });
  });

  test("migrate brings a new tenant's schema forward, and then has nothing to do", async () => {
    const first = await data<{ applied: string[] }>(["-t", "globex", "db", "migrate"]);
    expect(first.applied.length).toBeGreaterThan(0);
    expect(await data(["-t", "globex", "db", "migrate"])).toEqual({ tenant: "globex", applied: [] });
  });
});
