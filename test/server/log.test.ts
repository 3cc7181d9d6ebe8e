import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openLog } from "../../src/server/observe/log.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "pmctl-log-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

test("a log that cannot be written stops no request", () => {
  const file = join(directory, "log");
  closeSync(openSync(file, "w"));
  const fd = openSync(file, "r");
  const log = openLog("acme", fd);
  for (let line = 0; line < 100; line += 1) expect(() => log.error({ line }, "unheard")).not.toThrow();
  closeSync(fd);
  expect(readFileSync(file, "utf8")).toBe("");
});

test("and goes on when it can be written again, also after megabytes", () => {
  const file = join(directory, "recovered");
  closeSync(openSync(file, "w"));
  const fd = openSync(file, "r");
  const log = openLog("acme", fd);
  const text = "x".repeat(10_000);
  for (let line = 0; line < 200; line += 1) log.error({ line, text });
  closeSync(fd);
  expect(openSync(file, "a")).toBe(fd);
  for (const line of ["noticed", "written"]) log.error(line);
  closeSync(fd);
  const lines = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines[0]).toMatchObject({ line: 0 });
  expect(lines.at(-1)).toMatchObject({ msg: "written" });
  expect(lines.length).toBeLessThan(120);
});

test("a log that can is lines of JSON, which no text in them can break", () => {
  const file = join(directory, "good");
  const fd = openSync(file, "a");
  openLog("acme", fd).error({ question: 'a\n{"level":10}\r\u001b[2J' }, "x\ny");
  closeSync(fd);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { tenant: "acme", question: 'a\n{"level":10}\r\u001b[2J' },
  ]);
});
