import { matchesGlob } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { matcher } from "../../src/config/wildcards.ts";

test.each([
  ["*.yaml", "a.yaml", true],
  ["*.yaml", ".yaml", false],
  ["*.yaml", "m/a.yaml", false],
  [".*.yaml", ".a.yaml", true],
  ["m/**/*.yaml", "m/a.yaml", true],
  ["m/**/*.yaml", "m/x/y/a.yaml", true],
  ["m/**/*.yaml", "m/.x/y/a.yaml", false],
  ["**/.x/**/a", "m/.x/y/a", true],
  ["[!a-c]?[]x]", "d-]", true],
  ["[!a-c]?[]x]", "b-]", false],
  ["[", "[", true],
  ["{a,b/{c,d}}.y", "b/d.y", true],
  ["{a,}b", "b", true],
  ["", "a", false],
])("%s and %s: %s", (pattern, path, isMatch) => {
  expect(matcher(pattern)(path)).toBe(isMatch);
});

test("agrees with the platform's own matching, which takes exponential time", () => {
  const path = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "."), minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 3,
  });
  const pattern = fc.array(fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?"), minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 3,
  });
  const isPlain = (parts: string[]) => parts.every((part) => part !== "." && part !== "..");
  fc.assert(
    fc.property(pattern.filter(isPlain), path.filter(isPlain), (patterns, names) => {
      expect(matcher(patterns.join("/"))(names.join("/"))).toBe(matchesGlob(names.join("/"), patterns.join("/")));
    }),
    { seed: 7, numRuns: 3000 },
  );
});
