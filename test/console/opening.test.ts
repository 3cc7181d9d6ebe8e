import { expect, test } from "vitest";
import { openingOf } from "../../src/console/views/market/opening.ts";

test("a market's opening is known from kind, first price and liquidity, and its curves rise from the first prices", () => {
  const opening = openingOf({ kind: "cpmm", p0: "0.5", liquidity: "" }, 1000);
  expect(opening).toMatchObject({ liquidityUsd: 1000, yes: 0.5, no: 0.5 });
  // Constant product: spending a buys F + a - F²/(F + a) shares.
  expect(opening?.sample.yes.shares).toBeCloseTo(1100 - 1e6 / 1100, 5);
  const [yes = []] = opening?.curves.map(({ points }) => points) ?? [];
  expect(yes[0]).toEqual([0, 0.5]);
  expect(yes.at(-1)?.[1]).toBeGreaterThan(0.89);
  expect(openingOf({ kind: "lmsr", p0: "0.25", liquidity: "50" }, undefined)).toMatchObject({
    liquidityUsd: 50,
    yes: 0.25,
    no: 0.75,
  });
});

test("values that make no market yet have no opening", () => {
  for (const values of [{}, { kind: "cpmm" }, { kind: "cpmm", p0: "1" }, { kind: "other", p0: "0.5" }])
    expect(openingOf(values as Record<string, string>, 1000)).toBeUndefined();
  expect(openingOf({ kind: "cpmm", p0: "0.5" }, undefined)).toBeUndefined();
  expect(openingOf({ kind: "cpmm", p0: "0.5", liquidity: "-1" }, 1000)).toBeUndefined();
});
