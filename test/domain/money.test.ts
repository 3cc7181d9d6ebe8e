import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { faultFacts } from "../../src/domain/fault.ts";
import {
  averagePrice,
  centsFromMicro,
  decimalFromMicro,
  feeOn,
  MAX_AMOUNT_USD,
  MAX_PRICE,
  MIN_PRICE,
  microFromUsd,
  roundPrice,
  usdFromMicro,
} from "../../src/domain/money.ts";
import { runs } from "./random.ts";

describe("microFromUsd: a JSON number becomes exactly the micro-dollars that were written", () => {
  test.each([
    [0, 0n],
    [-0, 0n],
    [25, 25_000_000n],
    [0.05, 50_000n],
    [0.1, 100_000n],
    [0.3, 300_000n],
    [1.1, 1_100_000n],
    [4.35, 4_350_000n],
    [0.000001, 1n],
    [-0.000001, -1n],
    [1e-6, 1n],
    [1e3, 1_000_000_000n],
    [1234567.654321, 1_234_567_654_321n],
    [1e9, 1_000_000_000_000_000n],
    [999_999_999.999999, 999_999_999_999_999n],
  ])("%d is %d micro-dollars", (usd, micro) => {
    expect(microFromUsd(usd)).toBe(micro);
  });

  test.each([
    ["seven decimals", 1e-7],
    ["seven decimals in sight of six", 0.1234567],
    ["a third", 1 / 3],
    ["0.1 + 0.2, which is not 0.3", 0.1 + 0.2],
    ["the smallest double", Number.MIN_VALUE],
    ["NaN", Number.NaN],
    ["infinity, which JSON's 1e400 becomes", Number.POSITIVE_INFINITY],
    ["minus infinity", Number.NEGATIVE_INFINITY],
    ["more than JSON carries exactly", MAX_AMOUNT_USD + 1],
    ["minus more than JSON carries exactly", -MAX_AMOUNT_USD - 1],
    ["the largest double", Number.MAX_VALUE],
  ])("%s is refused", (_what, usd) => {
    expect(microFromUsd(usd)).toBeUndefined();
  });

  const most = 2n ** 33n * 1_000_000n;

  test("the bound is the last amount that is sure to survive: just above it, two amounts are one number", () => {
    expect(MAX_AMOUNT_USD).toBe(8_589_934_592);
    expect(microFromUsd(MAX_AMOUNT_USD)).toBe(most);
    expect(usdFromMicro(most + 1n)).toBe(usdFromMicro(most + 2n));
  });

  const anyAmount = fc.oneof(fc.bigInt({ min: -most, max: most }), fc.bigInt({ min: most - 1_000_000n, max: most }));

  test("every amount up to 2^33 dollars crosses the edge both ways unchanged, as JSON text too", () => {
    fc.assert(
      fc.property(anyAmount, (micro) => {
        const text = JSON.stringify(usdFromMicro(micro));
        expect(microFromUsd(JSON.parse(text))).toBe(micro);
      }),
      runs(5000),
    );
  });

  test("an amount typed with up to six decimals is read as typed, for any amount up to 2^33 dollars", () => {
    fc.assert(
      fc.property(anyAmount, (micro) => {
        expect(microFromUsd(Number(decimalFromMicro(micro)))).toBe(micro);
      }),
      runs(5000),
    );
  });
});

describe("decimalFromMicro: plain decimals without trailing zeros", () => {
  test.each([
    [0n, "0"],
    [1n, "0.000001"],
    [-1n, "-0.000001"],
    [50_000n, "0.05"],
    [25_000_000n, "25"],
    [-25_500_000n, "-25.5"],
    [10_000_000_000_000_000_000n, "10000000000000"],
    [9_007_199_254_740_993n, "9007199254.740993"],
  ])("%d is %s", (micro, text) => {
    expect(decimalFromMicro(micro)).toBe(text);
  });

  test("names the amount exactly, however large", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (micro) => {
        const text = decimalFromMicro(micro);
        expect(text).toMatch(/^-?(0|[1-9]\d*)(\.\d{0,5}[1-9])?$/);
        const [whole = "", fraction = ""] = text.replace("-", "").split(".");
        const magnitude = BigInt(whole + fraction.padEnd(6, "0"));
        expect(text.startsWith("-") ? -magnitude : magnitude).toBe(micro);
      }),
      runs(1000),
    );
  });
});

describe("what is shown", () => {
  test("minor units are whole cents, rounded towards zero", () => {
    expect([19_999n, 20_000n, -19_999n, 0n].map(centsFromMicro)).toEqual([1, 2, -1, 0]);
  });

  test("a price has six decimals", () => {
    expect(roundPrice(1 / 3)).toBe(0.333333);
    expect(roundPrice(0.9999996)).toBe(1);
  });

  test("the average price is what was paid per share, and 0 without shares", () => {
    expect(averagePrice(25_000_000n, 48_414_104n)).toBe(0.516378);
    expect(averagePrice(1n, 0n)).toBe(0);
  });

  test("any fee at all is at least a micro-dollar; a rate of zero takes nothing", () => {
    expect([feeOn(1n, 1), feeOn(10_000n, 1), feeOn(10_001n, 1), feeOn(25_000_000n, 200), feeOn(7n, 0)]).toEqual([
      1n,
      1n,
      2n,
      500_000n,
      0n,
    ]);
  });
});

test("the refusal of a price out of bounds states the bounds", () => {
  expect(faultFacts("PRICE_BOUND").meaning).toMatch(new RegExp(`outside ${MIN_PRICE} to ${MAX_PRICE}$`));
});
