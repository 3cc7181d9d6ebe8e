import { expect, test } from "vitest";
import { difference, InAnyOrder, OneOf } from "./match.ts";
import { buy, openMaker, sell, yesMillionths } from "./model-makers.ts";
import { decimal, exp, FIXED, ln, microOf, squareRoot, usd } from "./model-numbers.ts";

test("an answer may have more fields, a list no more items", () => {
  expect(difference({ a: 1 }, { a: 1, b: 2 })).toBeUndefined();
  expect(difference([1], [1, 2])).toContain("expected 1 items, got 2");
  expect(difference({ a: { b: 1 } }, { a: { b: 2 } })).toBe("$.a.b: expected 1, got 2");
  expect(difference(new InAnyOrder([1, 2]), [2, 1])).toBeUndefined();
  expect(difference(new InAnyOrder([1, 1]), [2, 1])).toBeDefined();
  expect(difference(new OneOf([1, 2]), 3)).toBeDefined();
});

test("amounts are read from their decimal text", () => {
  expect([0.000001, 1e-7, 8589934592, 1.5, -2, 0.1 + 0.2].map(microOf)).toEqual([
    1n,
    undefined,
    8589934592000000n,
    1500000n,
    -2000000n,
    undefined,
  ]);
  expect([decimal(-1500000n), decimal(1n), decimal(0n), decimal(100000000n)]).toEqual(["-1.5", "0.000001", "0", "100"]);
  expect(usd(8589934591999999n)).toBe(8589934591.999999);
});

test("logarithms, exponentials and roots are those of doubles, to the digits that doubles have", () => {
  const fixed = (value: number) => (BigInt(Math.round(value * 2 ** 52)) * FIXED) / 2n ** 52n;
  const double = (value: bigint) => Number((value * 2n ** 60n) / FIXED) / 2 ** 60;
  for (const x of [0.001, 0.3, 0.999, 1, 7.25, 1000]) expect(double(ln(fixed(x)))).toBeCloseTo(Math.log(x), 12);
  for (const x of [-8, -0.5, 0, 0.25, 3]) expect(double(exp(fixed(x))) / Math.exp(x)).toBeCloseTo(1, 12);
  expect([0n, 1n, 15n, 16n, 10n ** 40n].map(squareRoot)).toEqual([0n, 1n, 3n, 4n, 10n ** 20n]);
});

test.each(["cpmm", "lmsr"] as const)(
  "%s opens at p0, and selling what was bought never pays more than it cost",
  (kind) => {
    for (const p0 of [1_000n, 300_000n, 500_000n, 990_000n]) {
      const maker = openMaker(kind, 1_000_000_000n, p0);
      expect(Number(yesMillionths(maker) - p0)).toBeLessThanOrEqual(1);
      const [bought] = buy(maker, "no", 5_000_000n);
      const [sold] = sell({ ...maker, ...bought?.pool }, "no", bought?.out ?? 0n);
      expect(5_000_000n - (sold?.out ?? 0n)).toBeGreaterThanOrEqual(0n);
      expect(5_000_000n - (sold?.out ?? 0n)).toBeLessThanOrEqual(2n);
    }
  },
);
