import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Labels, parseSelector, SelectorError, selects } from "../../src/config/selection/selector.ts";

const isSelected = (text: string, labels: Labels) => selects(parseSelector(text), labels);

const EU: Labels = { region: "eu", tier: "gold" };

test.each([
  ["region=eu", true],
  ["region=us", false],
  ["zone=eu", false],
  ["region!=us", true],
  ["region!=eu", false],
  ["zone!=eu", true],
  ["region", true],
  ["zone", false],
  ["!zone", true],
  ["!region", false],
  ["region in (us,eu)", true],
  ["region in (us)", false],
  ["zone in (us,eu)", false],
  ["region notin (us)", true],
  ["region notin (us,eu)", false],
  ["zone notin (us,eu)", true],
  ["region=eu,tier=gold", true],
  ["region=eu,tier=silver", false],
  [" region in( us , eu ) ,\n! zone ", true],
  // Words of the grammar are names like any other.
  ["in notin (in)", true],
  ["!notin,in!=in", true],
  // Names that every object has are no labels.
  ["constructor", false],
  ["!toString", true],
])("%j selects what has the labels that it asks for", (text, expected) => {
  expect(isSelected(text, EU)).toBe(expected);
});

test.each([
  ["", 1, "the text ends"],
  [" ", 2, "the text ends"],
  ["region=eu,", 11, "the text ends"],
  ["region=eu,,tier", 11, 'found ","'],
  ["region=", 8, "a value"],
  ["region==eu", 8, 'found "="'],
  ["=eu", 1, "a label's name or !"],
  ["!", 2, "a label's name"],
  ["!!region", 2, "a label's name"],
  ["region eu", 8, "a comma or the end"],
  ["!region=eu", 8, "a comma or the end"],
  ["region in eu", 11, "expected ("],
  ["region in ()", 12, "a value"],
  ["region in (eu", 14, "expected )"],
  ["region in (eu,)", 15, "a value"],
  ["region in (eu us)", 15, "expected )"],
  ["-region", 1, 'found "-region"'],
  [`a=${"x".repeat(64)}`, 3, "a value"],
  ["tier=göld", 7, "a comma or the end"],
  ["tier=gold 💥", 11, 'found "💥"'],
])("%j is refused at character %i: %s", (text, at, why) => {
  expect(() => parseSelector(text)).toThrow(SelectorError);
  expect(() => parseSelector(text)).toThrow(
    new RegExp(`^character ${at}: .*${why.replaceAll("(", "\\(").replaceAll(")", "\\)")}`),
  );
});

/** A requirement's text, and whether labels meet it. */
interface Asked {
  text: string;
  holds: (labels: ReadonlyMap<string, string>) => boolean;
}

describe("by a naive reading of the contract", () => {
  const word = fc.constantFrom("a", "b", "in", "notin", "x/y", "eu-1", "9", "A.b_c");
  const gap = fc.constantFrom("", " ", "  ");
  const list = fc.array(word, { minLength: 1, maxLength: 3 });
  const asked = (text: string, holds: Asked["holds"]): Asked => ({ text, holds });
  const requirement = fc.oneof(
    fc.tuple(word, word, gap).map(([n, v, s]) => asked(`${n}${s}=${s}${v}`, (has) => has.get(n) === v)),
    fc.tuple(word, word, gap).map(([n, v, s]) => asked(`${n}${s}!=${s}${v}`, (has) => has.get(n) !== v)),
    word.map((n) => asked(n, (has) => has.has(n))),
    fc.tuple(word, gap).map(([n, s]) => asked(`!${s}${n}`, (has) => !has.has(n))),
    fc
      .tuple(word, list, gap)
      .map(([n, vs, s]) =>
        asked(`${n} in${s}(${vs.join(`${s},${s}`)}${s})`, (has) => vs.some((v) => v === has.get(n))),
      ),
    fc
      .tuple(word, list, gap)
      .map(([n, vs, s]) => asked(`${n} notin${s}(${s}${vs.join(",")})`, (has) => !vs.some((v) => v === has.get(n)))),
  );

  test("every selector selects the same tenants", () => {
    fc.assert(
      fc.property(
        fc.array(requirement, { minLength: 1, maxLength: 4 }),
        fc.dictionary(word, word),
        gap,
        (all, labels, s) => {
          const has = new Map(Object.entries(labels));
          expect(isSelected(all.map(({ text }) => text).join(`${s},${s}`), labels)).toBe(
            all.every(({ holds }) => holds(has)),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  test("any other text is refused with a place inside it, and quickly", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."ab=!(), -in💥"), maxLength: 40 }), (text) => {
        try {
          expect(parseSelector(text).length).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(SelectorError);
          const at = Number(/^character (\d+): /.exec((error as Error).message)?.[1]);
          expect(at).toBeGreaterThanOrEqual(1);
          expect(at).toBeLessThanOrEqual(text.length + 1);
        }
      }),
      { numRuns: 500 },
    );
    expect(() => parseSelector(`a in (${"x,".repeat(50_000)}`)).toThrow(SelectorError);
  });
});
