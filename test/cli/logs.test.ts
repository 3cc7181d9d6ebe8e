import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type LogFilter, readLogs } from "../../src/app/logs/read-logs.ts";
import { Fault } from "../../src/domain/fault.ts";
import { LogFiles, type LogLine } from "../../src/server/observe/log-files.ts";
import { accessLine, eventLine } from "../../src/server/observe/log-lines.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { withServer } from "../support/tenant-text.ts";

let folder = "";
let operator: Operator;
beforeAll(async () => {
  folder = await mkdtemp("/tmp/pmctl-logs-");
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit("acme", (text) => withServer(text));
  expect((await operator.run("apply", "acme")).exitCode).toBe(0);
});
afterAll(async () => {
  await operator?.close();
  await rm(folder, { recursive: true, force: true });
});

const answered = (change: Partial<LogLine> = {}): LogLine => ({
  ts: "2030-01-01T00:00:00.000Z",
  level: "info",
  kind: "access",
  requestId: "req_1",
  method: "GET",
  route: "/v1/markets/:id",
  status: 200,
  durationMs: 1.5,
  key: "ops",
  userId: "ann",
  errorCode: null,
  message: null,
  ...change,
});

const lineOf = (change?: Partial<LogLine>) => JSON.stringify(answered(change));

async function read(at: string, filter: LogFilter = {}, from?: Map<string, number>): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const line of readLogs(at, filter, from)) lines.push(line);
  return lines;
}

test("lines are kept in order, filtered by what they hold, and read on from where a reader was", async () => {
  const at = join(folder, "kept");
  const journal = new LogFiles({ folder: at, keepDays: 7, maxMb: 1 });
  journal.add(lineOf());
  journal.add(lineOf({ requestId: "req_2", status: 404, level: "warn", userId: null, message: "Märket not found" }));
  await journal.close();
  const from = new Map<string, number>();
  expect((await read(at, {}, from)).map(({ requestId }) => requestId)).toEqual(["req_1", "req_2"]);
  for (const filter of [
    { status: "4xx" },
    { status: "404" },
    { level: "warn" },
    { request: "req_2" },
    { grep: "NOT f" },
  ])
    expect((await read(at, filter)).map(({ requestId }) => requestId)).toEqual(["req_2"]);
  expect(await read(at, { user: "ann" })).toHaveLength(1);
  expect(await read(at, { since: "2030-01-01T00:00:00.001Z" })).toEqual([]);
  journal.add(lineOf({ requestId: "req_3" }));
  await journal.close();
  expect((await read(at, {}, from)).map(({ requestId }) => requestId)).toEqual(["req_3"]);
});

test("what is no file of a server's lines is passed over: a link, a pipe, a line without an end", async () => {
  const at = join(folder, "strange");
  await mkdir(at);
  await symlink("/dev/zero", join(at, "1000000000000-1.ndjson"));
  await execa("mkfifo", [join(at, "1000000000001-1.ndjson")]);
  await writeFile(join(at, "1000000000002-1.ndjson"), `${" ".repeat(3_000_000)}${lineOf({ requestId: "long" })}\n`);
  await writeFile(join(at, "1000000000003-1.ndjson"), `${lineOf()}\n${lineOf({ requestId: "half" }).slice(0, -1)}`);
  expect((await read(at)).map(({ requestId }) => requestId)).toEqual(["req_1"]);
});

test("files are bounded in bytes and days: the oldest go first", async () => {
  const at = join(folder, "bounded");
  const options = { folder: at, keepDays: 7, maxMb: 0.05 };
  const old = `${Date.now() - 9 * 86_400_000}-1.ndjson`;
  const journal = new LogFiles(options);
  journal.add(lineOf());
  await journal.close();
  await writeFile(join(at, old), "{}\n");
  for (let round = 0; round < 40; round += 1) {
    for (let line = 0; line < 20; line += 1) journal.add(lineOf({ requestId: `req_${round}_${line}` }));
    await journal.close();
  }
  const names = await readdir(at);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(at, name))).size));
  expect(names).not.toContain(old);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(options.maxMb * 1024 * 1024);
  expect((await read(at)).at(-1)?.requestId).toBe("req_39_19");
});

test("a folder that cannot be written stops nothing", async () => {
  const file = join(folder, "file");
  await writeFile(file, "");
  const journal = new LogFiles({ folder: join(file, "below"), keepDays: 7, maxMb: 1 });
  journal.add(lineOf());
  await expect(journal.close()).resolves.toBeUndefined();
});

test("the line of a request is JSON of all its fields in their order, whatever its texts hold", () => {
  const text = fc.string({ unit: "binary" });
  const perhaps = fc.option(text, { nil: undefined });
  const durations = fc.integer({ min: 0, max: 9_999_999 });
  const holds = (route: string, name: string | undefined, message: string | undefined, durationMs: number) => {
    const fault = message === undefined ? undefined : new Fault("NOT_FOUND", message);
    const key = name === undefined ? undefined : { name };
    const [status, level] = fault ? [404, "warn" as const] : [200, "info" as const];
    const exchange = { requestId: "req_1", req: { method: "GET" }, route, key, userId: name };
    const line = JSON.parse(accessLine(exchange, status, durationMs / 1000, fault)) as LogLine;
    const told = { route, key: name ?? null, userId: name ?? null, status, level, durationMs };
    const refused = { errorCode: fault?.code ?? null, message: message ?? null };
    expect(Object.keys(line)).toEqual(Object.keys(answered()));
    expect(line).toEqual(answered({ ts: line.ts, ...told, ...refused }));
    expect(new Date(line.ts).toISOString()).toBe(line.ts);
  };
  const before = Date.now();
  fc.assert(fc.property(text, perhaps, perhaps, durations, holds));
  const exchange = { requestId: "req_1", req: {}, route: "/", key: undefined, userId: undefined };
  const { ts, level, method } = JSON.parse(accessLine(exchange, 500, 0, undefined)) as LogLine;
  expect({ level, method, isNow: Date.parse(ts) >= before && Date.parse(ts) <= Date.now() }).toEqual({
    ...{ level: "error", method: null, isNow: true },
  });
});

test("the line of a refused user token says what is wrong with it", () => {
  const exchange = { requestId: "req_1", req: { method: "GET" }, route: "/", key: undefined, userId: undefined };
  const fault = new Fault("USER_REQUIRED", "A valid user token is required", { detail: { fault: "exp-missing" } });
  expect(JSON.parse(accessLine(exchange, 401, 0, fault))).toMatchObject({
    errorCode: "USER_REQUIRED",
    message: "exp is missing (A valid user token is required)",
  });
  const signature = new Fault("SIGNATURE_INVALID", "Invalid signature", { detail: { fault: "time-off" } });
  expect(JSON.parse(accessLine(exchange, 401, 0, signature))).toMatchObject({
    errorCode: "SIGNATURE_INVALID",
    message: "the time is more than five minutes off (Invalid signature)",
  });
});

test("of what a server logs beside requests neither headers nor stacks are kept", () => {
  const headers = { "x-api-key": "sk_secret" };
  const err = { type: "Error", message: "boom", stack: "at secret" };
  const line = eventLine(JSON.stringify({ level: 50, time: 0, msg: "A commit failed", err, headers }));
  expect(JSON.parse(line ?? "")).toMatchObject({ kind: "error", level: "error", message: "A commit failed: boom" });
  expect(line).not.toContain("secret");
});

test("logs shows what a serving process answered, and holds no key of a request", async () => {
  const server = await operator.serve("acme");
  const wrong = "sk_wrong-0123456789-abcdefghijklmnopqrstuvwxyz";
  const response = await fetch(`${server.url}/v1/policy?token=${wrong}`, { headers: { "x-api-key": wrong } });
  const requestId = response.headers.get("request-id") ?? "";
  const logs = async () => {
    const { stdout } = await operator.run("logs", "acme", "--request", requestId, "-o", "json");
    return JSON.parse(stdout) as LogLine[];
  };
  await vi.waitFor(async () => expect(await logs()).toHaveLength(1), { timeout: 60_000, interval: 200 });
  const [line] = await logs();
  expect(line).toMatchObject({ kind: "access", method: "GET", route: "/v1/policy", status: 401, key: null });
  expect(line?.errorCode).toMatch(/^[A-Z_]+$/);
  const kept = join(operator.directory, ".pmctl/logs/acme");
  for (const name of await readdir(kept)) expect(await readFile(join(kept, name), "utf8")).not.toContain("sk_wrong");
  expect((await operator.run("logs", "acme", "--status", "9")).exitCode).toBe(6);
});
