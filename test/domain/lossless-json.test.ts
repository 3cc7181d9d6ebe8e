import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isKeptByDouble, NumberText, parseLossless, pathOfNumberText } from "../../src/domain/json/exact-json.ts";
import { runs } from "./random.ts";

test("every number that JavaScript writes is kept, however it is written", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (double) => {
      const text = JSON.stringify(double);
      expect(isKeptByDouble(text)).toBe(true);
      expect(isKeptByDouble(double.toExponential())).toBe(!Object.is(double, -0) || double.toExponential() === "0e+0");
      expect(parseLossless(`[${text}]`)).toEqual([JSON.parse(text)]);
    }),
    runs(500),
  );
});

test("an integer is kept if and only if its double is that integer", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
      const text = String(integer);
      const [value] = parseLossless(`[${text}]`) as [unknown];
      expect(String(value)).toBe(isKeptByDouble(text) ? String(Number(text)) : text);
      // Beyond 2^53 JavaScript writes an integer by its shortest digits, which another integer may have too.
      if (BigInt(Number(text)) !== integer) expect(value instanceof NumberText || String(value) === text).toBe(true);
    }),
    runs(500),
  );
});

test.each(["9007199254740993", "1e400", "-1e400", "1e-400", "-0", "-0.0", "0.1000000000000000055", "-0e5"])(
  "%s is not kept, and stays a text that is written as it was",
  (text) => {
    const value = parseLossless(`{"a":[1,{"b":${text}}]}`);
    expect(pathOfNumberText(value)).toBe("a.1.b");
    expect(JSON.stringify(value)).toBe(`{"a":[1,{"b":${text}}]}`);
  },
);

test.each(["0.1", "1.0", "1e2", "100000000000000000000", "0.30000000000000004", "0", "0.0", "-1", "1E+2"])(
  "%s is kept",
  (text) => {
    expect(pathOfNumberText(parseLossless(`{"a":${text},"1e":"-0, 1e400"}`))).toBeUndefined();
  },
);
