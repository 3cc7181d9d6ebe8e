import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { counted } from "../../src/domain/text.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** What messages count. */
const NOUNS =
  "accounts|applies|attempts|cases|changes|checks|days|deliveries|differences|entries|events|faults|feeds|files|findings|keys|lines|markets|payouts|positions|problems|purchases|requests|rows|rules|secrets|sources|tables|tenants|times|traders|trades|users|values|warnings|winners";

/** A count that is printed beside a plural, whatever it is. A limit in capitals is a number that never changes. */
const COUNT_BESIDE_PLURAL = new RegExp(
  `\\$\\{(?!(?:[A-Z_]+)\\}|counted\\()[^{}\`]*\\} (?:[a-z]+ ){0,2}(?:${NOUNS})\\b`,
  "g",
);

/** Lines with a name, not a count, before such a word. */
const NAMED =
  /the shared secrets|lacks tables|prints problems|names the tenants|are two markets|changes (?:nothing|money)|never changes|tenants\.\$/;

test("a message that counts reads right for one, too", () => {
  const wrong = globSync("src/{app,cli,config,domain,engine,oracle,plan,server,services}/**/*.ts", {
    cwd: ROOT,
  }).flatMap((file) =>
    readFileSync(ROOT + file, "utf8")
      .split("\n")
      .filter((line) => /[`"]/.test(line) && !NAMED.test(line))
      .flatMap((line) => (line.match(COUNT_BESIDE_PLURAL) ?? []).map((found) => `${file}: ${found}`)),
  );
  expect(wrong).toEqual([]);
});

test.each([
  [counted(1, "market"), "1 market"],
  [counted(0, "market"), "0 markets"],
  [counted(1n, "entry is", "entries are"), "1 entry is"],
  [counted(12n, "entry is", "entries are"), "12 entries are"],
])("%s", (text, expected) => {
  expect(text).toBe(expected);
});
