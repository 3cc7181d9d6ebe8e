import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { PLACES } from "../../src/config/secrets/secret-places.ts";

const ROOT = new URL("../../", import.meta.url);
const text = readFileSync(new URL("docs/design/security.md", ROOT), "utf8");
const exists = (path: string) => existsSync(new URL(path, ROOT));
const TESTS = /`(test\/[^`]+)`/g;

/** The cells of the rows of a chapter's tables, without those that begin them. */
function rowsOf(heading: RegExp): string[][] {
  const chapter = text.split(/^## /m).find((part) => heading.test(part)) ?? "";
  const rows = chapter.split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(1).map((row) => row.slice(2, -2).split(" | "));
}

test("every test and source file that docs/design/security.md names exists", () => {
  const named = [...text.matchAll(/`((?:test|src)\/[^`]+)`/g)]
    .map(([, path = ""]) => path)
    .filter((path) => /\.ts$/.test(path));
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((path) => !exists(path))).toEqual([]);
});

test("every threat says what holds it, and which test proves that", () => {
  const threats = rowsOf(/^2\. Threats/);
  expect(threats.length).toBeGreaterThan(5);
  for (const [threat, holds, proof = "", ...rest] of threats) {
    expect([threat, holds?.length, rest]).toEqual([threat, expect.any(Number), []]);
    expect([threat, [...proof.matchAll(TESTS)].length > 0]).toEqual([threat, true]);
  }
});

describe("the table of secrets", () => {
  const rows = rowsOf(/^3\. Secrets/);

  test("has a row for each kind of place in the tenant file", () => {
    const places = rows.flatMap(([place = ""]) => [...place.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
    const kinds = new Set(places.map((place) => PLACES.find((beginning) => place.startsWith(beginning))));
    expect(PLACES.filter((beginning) => !kinds.has(beginning))).toEqual([]);
  });

  test("says of each who holds it, how it is rotated, what falls when it leaks, and names a test", () => {
    for (const [place, holder, rotation, leak, proof = "", ...rest] of rows) {
      const said = [holder, rotation, leak].every((cell) => cell !== undefined && cell.length > 3);
      expect([place, said, rest]).toEqual([place, true, []]);
      expect([place, [...proof.matchAll(TESTS)].length > 0]).toEqual([place, true]);
    }
  });
});

describe("the table of ASVS 5.0.0", () => {
  const rows = rowsOf(/^5\. OWASP ASVS/);

  test("has each requirement once, with a state, and a test wherever it is met", () => {
    const ids = rows.map(([id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [id, level, state, how = ""] of rows) {
      expect([id, /^V\d+\.\d+\.\d+$/.test(id ?? ""), /^[12]$/.test(level ?? "")]).toEqual([id, true, true]);
      expect(["met", "not applicable", "not met"]).toContain(state);
      if (state === "met") expect([id, [...how.matchAll(TESTS)].length > 0]).toEqual([id, true]);
      else expect([id, how.length > 5]).toEqual([id, true]);
    }
  });

  test("is counted as the text before it says", () => {
    const count = (state: string) => rows.filter((row) => row[2] === state).length;
    expect(text.replaceAll("\n", " ")).toContain(
      `Of ${rows.length} requirements ${count("met")} are met, ${count("not applicable")} are not applicable, ${count("not met")} are not met.`,
    );
    // The standard has 70 requirements of level 1 and 183 of level 2.
    expect([1, 2].map((level) => rows.filter((row) => row[1] === String(level)).length)).toEqual([70, 183]);
  });
});

test("the ten risks of the API list have a state each", () => {
  const rows = rowsOf(/^6\. OWASP API/);
  expect(rows.map(([risk]) => risk?.split(" ")[0])).toEqual(
    Array.from({ length: 10 }, (_, index) => `API${index + 1}`),
  );
  for (const [, state] of rows) expect(["met", "not met"]).toContain(state);
});
