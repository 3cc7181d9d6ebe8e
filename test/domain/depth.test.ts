import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { depthOf } from "../../src/domain/market/depth.ts";
import { buyShares, type Mechanism, openPool, type Side, spendTo, yesPriceOf } from "../../src/domain/market/market.ts";
import type { Pool } from "../../src/domain/market/pool.ts";
import { MAX_PRICE } from "../../src/domain/money.ts";
import { amountOf, anyMechanism, anySide, anyWishes, runs, type Wish } from "./random.ts";

function traded(mechanism: Mechanism, wishes: Wish[]): Pool {
  let pool = openPool(mechanism);
  for (const wish of wishes) {
    const after = buyShares(mechanism, pool, wish.side, amountOf(wish, mechanism)).pool;
    const price = yesPriceOf(mechanism, after);
    if (price >= 0.001 && price <= 0.999) pool = after;
  }
  return pool;
}

const priceOf = (mechanism: Mechanism, pool: Pool, side: Side) => {
  const yes = yesPriceOf(mechanism, pool);
  return side === "yes" ? yes : 1 - yes;
};

const cents = (levels: { price: number }[]) => levels.map(({ price }) => price);

/** From a thousand dollars on, where a micro-dollar moves no price that shows. */
const anyLiquidMechanism = anyMechanism(6).map((mechanism) => ({
  ...mechanism,
  fundMicro: mechanism.fundMicro + 1_000_000_000n,
}));

describe("the depth ladder", () => {
  test("one trade through the first k levels lands on the price of level k and buys the sum of their sizes", () => {
    fc.assert(
      fc.property(anyLiquidMechanism, anyWishes, anySide, (mechanism, wishes, side) => {
        const pool = traded(mechanism, wishes);
        let sum = 0n;
        for (const { price, sizeMicro } of depthOf(mechanism, pool, side)) {
          sum += sizeMicro;
          const net = BigInt(Math.floor(spendTo(mechanism, pool, side, price)));
          const bought = buyShares(mechanism, pool, side, net);
          expect(bought.sharesMicro).toBe(sum);
          expect(priceOf(mechanism, bought.pool, side)).toBeCloseTo(price, 6);
          expect(priceOf(mechanism, bought.pool, side)).toBeLessThanOrEqual(MAX_PRICE + 1e-12);
        }
      }),
      runs(300),
    );
  });

  test("level by level buys no more than at once, and a micro-share a level less at the most", () => {
    fc.assert(
      fc.property(anyMechanism(3), anyWishes, anySide, (mechanism, wishes, side) => {
        let pool = traded(mechanism, wishes);
        const levels = depthOf(mechanism, pool, side);
        const target = levels.reduce((sum, { sizeMicro }) => sum + sizeMicro, 0n);
        const start = pool;
        let [spent, bought] = [0n, 0n];
        for (const { price } of levels) {
          const upTo = BigInt(Math.floor(spendTo(mechanism, start, side, price)));
          const step = buyShares(mechanism, pool, side, upTo - spent);
          [spent, bought, pool] = [upTo, bought + step.sharesMicro, step.pool];
        }
        expect(Number(target - bought)).toBeGreaterThanOrEqual(-1);
        expect(Number(target - bought)).toBeLessThanOrEqual(levels.length + 1);
      }),
      runs(300),
    );
  });

  test("levels are whole cents above the price, ascending, ten at the most, and end at the bound", () => {
    fc.assert(
      fc.property(anyLiquidMechanism, anyWishes, anySide, (mechanism, wishes, side) => {
        const pool = traded(mechanism, wishes);
        const price = priceOf(mechanism, pool, side);
        const levels = depthOf(mechanism, pool, side);
        expect(levels.length).toBeLessThanOrEqual(10);
        if (price < 0.9989)
          expect(levels.length).toBe(Math.min(10, 100 - Math.floor(Math.round(price * 1e6) / 10_000)));
        levels.forEach(({ price: upper, sizeMicro }, index) => {
          expect(sizeMicro).toBeGreaterThan(0n);
          expect(upper).toBeGreaterThan(levels[index - 1]?.price ?? price);
          expect(upper === MAX_PRICE || Number.isInteger(Math.round(upper * 1e6) / 10_000)).toBe(true);
          expect(upper).toBeLessThanOrEqual(MAX_PRICE);
        });
      }),
      runs(300),
    );
  });

  test.each(["cpmm", "lmsr"] as const)("a %s market at a whole cent starts at the next one", (kind) => {
    const mechanism: Mechanism = { kind, fundMicro: 1_000_000_000n, p0Ppm: 300_000 };
    const pool = openPool(mechanism);
    expect(cents(depthOf(mechanism, pool, "yes"))).toEqual([0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.38, 0.39, 0.4]);
    expect(cents(depthOf(mechanism, pool, "no"))).toEqual([0.71, 0.72, 0.73, 0.74, 0.75, 0.76, 0.77, 0.78, 0.79, 0.8]);
  });

  test("near the bound there are fewer levels, the last one up to 0.999", () => {
    const mechanism: Mechanism = { kind: "lmsr", fundMicro: 1_000_000_000n, p0Ppm: 975_000 };
    expect(cents(depthOf(mechanism, openPool(mechanism), "yes"))).toEqual([0.98, 0.99, 0.999]);
  });

  test("at the bound nothing is on offer", () => {
    const mechanism: Mechanism = { kind: "cpmm", fundMicro: 1_000_000_000n, p0Ppm: 999_000 };
    expect(depthOf(mechanism, openPool(mechanism), "yes")).toEqual([]);
  });

  test("a cpmm level is what y·n = k says", () => {
    // y = n = 1000: from 0.50 to 0.51, a = 1000·(sqrt(0.51/0.49) - 1) and s = a + 1000 - 1e6/(1000 + a).
    const mechanism: Mechanism = { kind: "cpmm", fundMicro: 1_000_000_000n, p0Ppm: 500_000 };
    const a = 1000 * (Math.sqrt(0.51 / 0.49) - 1);
    const [first] = depthOf(mechanism, openPool(mechanism), "no");
    expect(Number(first?.sizeMicro) / 1e6).toBeCloseTo(a + 1000 - 1e6 / (1000 + a), 4);
  });
});
