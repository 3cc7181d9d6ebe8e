import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { OWN_FILES, RARE, RARE_SHARED, SHARED_FOLDERS } from "../support/projects.ts";

const TESTS = join(import.meta.dirname, "..");
const files = readdirSync(TESTS, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

describe("the tests", () => {
  test("docs/design/testing.md lists each file that npm test leaves out, and a file that npm test runs for each", () => {
    const page = readFileSync(join(TESTS, "../docs/design/testing.md"), "utf8");
    const rows = [...page.matchAll(/^\| (.+) \| (`.+) \|$/gm)].filter(([row]) => row.includes("/"));
    const names = (cell = "") => [...cell.matchAll(/`(\w+\/[^`]+)`/g)].map(([, name]) => `test/${name}.test.ts`);
    const rare = [...RARE, ...RARE_SHARED].map((path) => path.replace("**/*", "*"));
    expect(rows.flatMap(([, left]) => names(left)).toSorted()).toEqual(rare.toSorted());
    const kept = rows.map(([, left, right]) => ({ left, files: names(right) }));
    expect(kept.filter((row) => row.files.length === 0)).toEqual([]);
    const there = files.map((name) => `test/${name}`);
    const missing = kept.flatMap((row) => row.files).filter((file) => !there.includes(file) || rare.includes(file));
    expect(missing).toEqual([]);
  });

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
