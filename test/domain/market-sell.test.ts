import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buyShares, openPool, sellToPool, yesPriceOf } from "../../src/domain/market/market.ts";
import type { Pool } from "../../src/domain/market/pool.ts";
import { MAX_PRICE, MIN_PRICE } from "../../src/domain/money.ts";
import { exactShares } from "./exact-lmsr.ts";
import { amountOf, anyMechanism, anySide, anyWishes, runs, type Wish } from "./random.ts";

const other = { yes: "no", no: "yes" } as const;

/** A pool after some purchases that stayed within the bounds. */
function tradedPool(mechanism: Parameters<typeof openPool>[0], wishes: Wish[]): Pool {
  let pool = openPool(mechanism);
  for (const wish of wishes) {
    const next = buyShares(mechanism, pool, wish.side, amountOf(wish, mechanism)).pool;
    const price = yesPriceOf(mechanism, next);
    if (price >= MIN_PRICE && price <= MAX_PRICE) pool = next;
  }
  return pool;
}

describe("selling s shares for R", () => {
  test("constant product: is buying s of the other side with s - R, and no larger R is", () => {
    fc.assert(
      fc.property(anyMechanism(9, fc.constant("cpmm" as const)), anyWishes, anySide, (mechanism, wishes, side) => {
        const pool = tradedPool(mechanism, wishes);
        const shares = amountOf(wishes[0] as Wish, mechanism);
        const { proceedsMicro, pool: after } = sellToPool(mechanism, pool, side, shares);
        expect(after.yesMicro * after.noMicro).toBeGreaterThanOrEqual(pool.yesMicro * pool.noMicro);
        expect(buyShares(mechanism, pool, other[side], shares - proceedsMicro).sharesMicro).toBeGreaterThanOrEqual(
          shares,
        );
        const more = shares - proceedsMicro - 1n;
        if (more > 0n) expect(buyShares(mechanism, pool, other[side], more).sharesMicro).toBeLessThan(shares);
      }),
      runs(2000),
    );
  });

  test("logarithmic: in exact arithmetic s - R buys s of the other side, and one micro less does not", () => {
    fc.assert(
      fc.property(anyMechanism(4, fc.constant("lmsr" as const)), anyWishes, anySide, (mechanism, wishes, side) => {
        const pool = tradedPool(mechanism, wishes);
        const shares = amountOf(wishes[0] as Wish, mechanism);
        const { proceedsMicro } = sellToPool(mechanism, pool, side, shares);
        fc.pre(proceedsMicro > 0n);
        const spent = shares - proceedsMicro;
        // Doubles carry 53 bits of the largest figure.
        const noise = Number(shares + pool.yesMicro + pool.noMicro) * 1e-13;
        expect(exactShares(mechanism, pool, other[side], spent)).toBeGreaterThanOrEqual(Number(shares) - noise);
        // A share costs less than a dollar, so a micro less spent is more than a micro-share less.
        if (spent > 1n)
          expect(exactShares(mechanism, pool, other[side], spent - 2n)).toBeLessThanOrEqual(Number(shares) + noise);
      }),
      runs(60),
    );
  });

  test("takes as many complete sets out as dollars, and never empties a reserve", () => {
    fc.assert(
      fc.property(anyMechanism(), anyWishes, anySide, (mechanism, wishes, side) => {
        const pool = tradedPool(mechanism, wishes);
        const shares = amountOf(wishes[0] as Wish, mechanism);
        const { proceedsMicro, pool: after } = sellToPool(mechanism, pool, side, shares);
        const [own, opposite] =
          side === "yes" ? (["yesMicro", "noMicro"] as const) : (["noMicro", "yesMicro"] as const);
        expect(after[own]).toBe(pool[own] + shares - proceedsMicro);
        expect(after[opposite]).toBe(pool[opposite] - proceedsMicro);
        expect(proceedsMicro).toBeLessThanOrEqual(shares);
        const price = yesPriceOf(mechanism, after);
        if (price >= MIN_PRICE && price <= MAX_PRICE) expect(after[opposite]).toBeGreaterThan(0n);
      }),
      runs(2000),
    );
  });

  test("what was bought brings no more than it cost, whole or in two parts", () => {
    fc.assert(
      fc.property(anyMechanism(), anyWishes, anySide, (mechanism, wishes, side) => {
        const pool = tradedPool(mechanism, wishes);
        const amount = amountOf(wishes[0] as Wish, mechanism);
        const bought = buyShares(mechanism, pool, side, amount);
        fc.pre(bought.sharesMicro > 0n);
        const whole = sellToPool(mechanism, bought.pool, side, bought.sharesMicro).proceedsMicro;
        expect(whole).toBeLessThanOrEqual(amount);
        const half = bought.sharesMicro / 2n;
        const first = sellToPool(mechanism, bought.pool, side, half);
        const second = sellToPool(mechanism, first.pool, side, bought.sharesMicro - half);
        expect(first.proceedsMicro + second.proceedsMicro).toBeLessThanOrEqual(amount);
      }),
      runs(2000),
    );
  });
});
