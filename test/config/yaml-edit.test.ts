import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { setInYaml } from "../../src/config/yaml/yaml-edit.ts";
import { runs } from "../domain/random.ts";

describe("setting one value of a YAML text", () => {
  test.each([
    ["a: 1 # one\nb: 2\n", ["a"], 5, "a: 5 # one\nb: 2\n"],
    ["p:\n  # why\n  a: 1\n\n  b: 2\nq: 3\n", ["p", "a"], 7, "p:\n  # why\n  a: 7\n\n  b: 2\nq: 3\n"],
    ["p:\n  a: 1 # one\nq: 3\n", ["p", "b"], 2, "p:\n  a: 1 # one\n  b: 2\nq: 3\n"],
    ["p:\n  a: 1\nq: 3", ["r", "b"], 2, "p:\n  a: 1\nq: 3\nr: { b: 2 }\n"],
    ["p: { a: 1 } # flow\n", ["p", "b"], true, "p: { a: 1, b: true } # flow\n"],
    ["p: {a: 1}\n", ["p", "b"], null, "p: {a: 1, b: null}\n"],
    ["p: {}\nq: 1\n", ["p", "b"], 1, "p: { b: 1 }\nq: 1\n"],
    ["p: # later\nq: 1\n", ["p", "b"], 1, "p: { b: 1 } # later\nq: 1\n"],
    ['j: { blocked: ["US"] }\n', ["j", "blocked"], ["US", "NO"], 'j: { blocked: ["US", "NO"] }\n'],
    ["b:\n  - US # law\n  - CU # old\nc: 1\n", ["b"], ["US", "IR"], 'b:\n  - US # law\n  - "IR"\nc: 1\n'],
    ["b:\n- US\n- CU\nc: 1\n", ["b"], ["CU", "NO"], 'b:\n- CU\n- "NO"\nc: 1\n'],
    [
      "- key: a\n  p0: 0.5\n- key: b\n  p0: 0.5",
      [1, "state"],
      "suspended",
      '- key: a\n  p0: 0.5\n- key: b\n  p0: 0.5\n  state: "suspended"\n',
    ],
    [
      "t:\n  # bands\n  tiers:\n    - { minScore: 0, capUsd: 500 } # low\n    - { minScore: 9, capUsd: 900 }\n",
      ["t"],
      {
        tiers: [
          { minScore: 0, capUsd: 100 },
          { minScore: 9, capUsd: null },
        ],
      },
      "t:\n  # bands\n  tiers:\n    - { minScore: 0, capUsd: 100 } # low\n    - { minScore: 9, capUsd: null }\n",
    ],
    ["a: &n 1 # one\nb: *n # two\n", ["a"], 5, "a: &n 5 # one\nb: 1 # two\n"],
    ["a: &n 1 # one\nb: *n # two\n", ["b"], 5, "a: &n 1 # one\nb: 5 # two\n"],
    ["a: &m { x: 1, y: 2 }\nb: *m\n", ["b", "x"], 5, "a: &m { x: 1, y: 2 }\nb: { x: 5, y: 2 }\n"],
    ["a: &m { x: 1, y: 2 }\nb: *m\n", ["a", "x"], 5, "a: &m { x: 5, y: 2 }\nb: { x: 1, y: 2 }\n"],
    ["a: { x: &n 1 }\nb: *n\n", ["a"], { y: 2 }, "a: { y: 2 }\nb: 1\n"],
    ["a: &n 1\nb: *n # two\nc: 3\n", ["c"], 4, "a: &n 1\nb: *n # two\nc: 4\n"],
  ])("%j at %j to %j", (text, path, value, expected) => {
    expect(setInYaml(text, path, value)).toBe(expected);
  });

  test("the text then says that value and keeps all the others, whatever its style", () => {
    const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.constantFrom("US", "NO", "a b"));
    const value = fc.oneof(
      leaf,
      fc.uniqueArray(leaf, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("x", "y"), leaf),
    );
    const texts = fc.constantFrom(
      "# head\np:\n  x: 1 # one\n  y: [1, 2]\nq: 2\n",
      "p: { x: 1, y: { x: 2 } } # flow\nq: 2\n",
      "p:\n  x:\n    - 1\n    # between\n    - US\n  y:\n    x: 3\n    y: 4\nq: 2",
      "p:\n  x:\n  - 1\n  - 2\n  y: |\n    lines\n    of text\nq: 2\n",
      "q: 2\np:\n",
      "q: 2\n",
    );
    fc.assert(
      fc.property(texts, fc.constantFrom("x", "y", "z"), value, (text, name, wanted) => {
        const edited = setInYaml(text, ["p", name], wanted);
        const before = parse(text) as { p?: object; q: number };
        const expected = { ...before, p: { ...(before.p ?? {}), [name]: wanted } };
        expect(withSets(parse(edited))).toEqual(withSets(expected));
        for (const [comment] of text.matchAll(/# (head|flow)/g)) expect(edited).toContain(comment);
      }),
      runs(1000),
    );
  });
});

/** Lists of scalars are sets here: an edit may order them as it likes. */
function withSets(value: unknown): unknown {
  if (Array.isArray(value)) return new Set(value);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withSets(each)]));
}
