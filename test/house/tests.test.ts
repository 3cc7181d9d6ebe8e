import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { OWN_FILES, SHARED_FOLDERS } from "../support/projects.ts";

const TESTS = join(import.meta.dirname, "..");
const files = readdirSync(TESTS, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

describe("the tests", () => {
  test("no two test files have one name, so that a name in a report is enough to find it", () => {
    const names = files.filter((name) => name.endsWith(".test.ts")).map((name) => basename(name));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test("databases are dropped by force in one place, which the server's own vacuum does not stop", () => {
    const forceful = files.filter((name) => /with \(force\)`/.test(readFileSync(join(TESTS, name), "utf8")));
    expect(forceful).toEqual(["support/database-copy.ts"]);
  });

  test("what shares a process with other files leaves its variables, directory, modules and clock as they were", () => {
    const lasting =
      /\bprocess\.env(\.\w+|\[[^\]]+\]) = |\bdelete process\.env|\bprocess\.chdir\(|\bvi\.(mock|stubEnv|stubGlobal)\(/;
    const offenders = files
      .filter((name) => SHARED_FOLDERS.includes(name.split("/")[0] ?? ""))
      .filter((name) => !OWN_FILES.includes(basename(name, ".test.ts")))
      .map((name) => ({ name, text: readFileSync(join(TESTS, name), "utf8") }))
      .filter(({ text }) => lasting.test(text) || text.includes("useFakeTimers(") !== text.includes("useRealTimers("));
    expect(offenders.map(({ name }) => name)).toEqual([]);
  });

  test("a module that several files import has no hooks of its own: in a shared process only the first of them would get these", () => {
    const texts = files.map((name) => ({ name, text: readFileSync(join(TESTS, name), "utf8") }));
    const importers = (module: string) => texts.filter(({ text }) => text.includes(`/${basename(module)}"`)).length;
    const offenders = texts
      .filter(({ name }) => !/\.(test|run)\.ts$/.test(name))
      .filter(({ name, text }) => /^(before|after)(All|Each)\(/m.test(text) && importers(name) > 1);
    expect(offenders.map(({ name }) => name)).toEqual([]);
  });
});
