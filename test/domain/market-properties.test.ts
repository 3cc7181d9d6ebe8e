import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  buyShares,
  type Mechanism,
  openPool,
  pricesOf,
  type Side,
  spendTo,
  yesPriceOf,
} from "../../src/domain/market/market.ts";
import type { Pool } from "../../src/domain/market/pool.ts";
import { MAX_PRICE, MIN_PRICE } from "../../src/domain/money.ts";
import { amountOf, anyMechanism, anySide, anyWishes, magnitude, runs, type Wish } from "./random.ts";

/** A market with one trader, as the ledger keeps it: complete sets, so what is outstanding of a side is known. */
class Market {
  readonly mechanism: Mechanism;
  readonly opening: Pool;
  pool: Pool;
  spentMicro = 0n;
  held = { yes: 0n, no: 0n };

  constructor(mechanism: Mechanism) {
    this.mechanism = mechanism;
    this.opening = openPool(mechanism);
    this.pool = this.opening;
  }

  get price(): number {
    return yesPriceOf(this.mechanism, this.pool);
  }

  /** Trades that would leave the price bounds are not made: the engine refuses them. */
  buy(side: Side, netMicro: bigint): boolean {
    const { sharesMicro, pool } = buyShares(this.mechanism, this.pool, side, netMicro);
    const price = yesPriceOf(this.mechanism, pool);
    if (sharesMicro <= 0n || price < MIN_PRICE || price > MAX_PRICE) return false;
    this.pool = pool;
    this.spentMicro += netMicro;
    this.held[side] += sharesMicro;
    return true;
  }

  /** What the house gains (or loses, negative) when `outcome` wins: all money in, less one dollar per winning share. */
  houseResult(outcome: Side): bigint {
    return this.spentMicro - this.held[outcome];
  }
}

function traded(mechanism: Mechanism, wishes: Wish[]): Market {
  const market = new Market(mechanism);
  for (const wish of wishes) market.buy(wish.side, amountOf(wish, mechanism));
  return market;
}

/** Doubles carry 53 bits; a logarithmic trade of this many micro-shares may be off by so much of a micro-share. */
const noise = (micro: bigint) => micro / 10n ** 14n;

describe("every market, after any sequence of trades", () => {
  test("opens at p0 with the scarcer side's reserve equal to F", () => {
    fc.assert(
      fc.property(anyMechanism(), (mechanism) => {
        const pool = openPool(mechanism);
        const largest = pool.yesMicro > pool.noMicro ? pool.yesMicro : pool.noMicro;
        expect(largest).toBe(mechanism.fundMicro);
        expect(pool.yesMicro > 0n && pool.noMicro > 0n).toBe(true);
        expect(Math.abs(yesPriceOf(mechanism, pool) - mechanism.p0Ppm / 1e6)).toBeLessThanOrEqual(
          4 / Number(mechanism.fundMicro) + 1e-12,
        );
      }),
      runs(2000),
    );
  });

  test("prices lie strictly between 0 and 1, and yes + no = 1 to six decimals", () => {
    fc.assert(
      fc.property(anyMechanism(), anyWishes, (mechanism, wishes) => {
        const market = traded(mechanism, wishes);
        expect(market.price).toBeGreaterThan(0);
        expect(market.price).toBeLessThan(1);
        const { yes, no } = pricesOf(mechanism, market.pool);
        expect(Math.round(yes * 1e6) + Math.round(no * 1e6)).toBe(1_000_000);
        for (const price of [yes, no]) expect(price).toBe(Number(price.toFixed(6)));
      }),
      runs(1500),
    );
  });

  test("the house never loses more than F, whichever side wins", () => {
    fc.assert(
      fc.property(anyMechanism(), anyWishes, (mechanism, wishes) => {
        const market = traded(mechanism, wishes);
        expect(market.houseResult("yes")).toBeGreaterThanOrEqual(-mechanism.fundMicro);
        expect(market.houseResult("no")).toBeGreaterThanOrEqual(-mechanism.fundMicro);
      }),
      runs(3000),
    );
  });

  test("complete sets: what the trader, the pool and the house hold of a side is the fund plus the money in", () => {
    fc.assert(
      fc.property(anyMechanism(), anyWishes, (mechanism, wishes) => {
        const { opening, pool, held, spentMicro } = traded(mechanism, wishes);
        const escrow = mechanism.fundMicro + spentMicro;
        expect(held.yes + pool.yesMicro + (mechanism.fundMicro - opening.yesMicro)).toBe(escrow);
        expect(held.no + pool.noMicro + (mechanism.fundMicro - opening.noMicro)).toBe(escrow);
        expect(pool.yesMicro > 0n && pool.noMicro > 0n).toBe(true);
      }),
      runs(1500),
    );
  });

  test("no trader profits for sure: its YES and NO pairs never come to more than it spent", () => {
    fc.assert(
      fc.property(anyMechanism(), anyWishes, (mechanism, wishes) => {
        const { held, spentMicro } = traded(mechanism, wishes);
        const pairs = held.yes < held.no ? held.yes : held.no;
        expect(pairs).toBeLessThanOrEqual(spentMicro + (mechanism.kind === "lmsr" ? noise(held.yes + held.no) : 0n));
      }),
      runs(3000),
    );
  });

  test("constant product: k never falls", () => {
    fc.assert(
      fc.property(anyMechanism(9, fc.constant("cpmm" as const)), anyWishes, (mechanism, wishes) => {
        const market = new Market(mechanism);
        for (const wish of wishes) {
          const before = market.pool.yesMicro * market.pool.noMicro;
          market.buy(wish.side, amountOf(wish, mechanism));
          expect(market.pool.yesMicro * market.pool.noMicro).toBeGreaterThanOrEqual(before);
        }
      }),
      runs(1000),
    );
  });
});

describe("one trade, on any market in any state", () => {
  test("buys less than a share per price and at least as many shares as dollars", () => {
    fc.assert(
      fc.property(anyMechanism(), anyWishes, anySide, magnitude(0, 14), (mechanism, wishes, side, netMicro) => {
        const market = traded(mechanism, wishes);
        const price = side === "yes" ? market.price : 1 - market.price;
        const { sharesMicro } = buyShares(mechanism, market.pool, side, netMicro);
        expect(sharesMicro).toBeGreaterThanOrEqual(netMicro - noise(netMicro));
        expect(Number(sharesMicro)).toBeLessThanOrEqual((Number(netMicro) / price) * (1 + 1e-12));
      }),
      runs(2000),
    );
  });

  test("more money never buys fewer shares", () => {
    fc.assert(
      fc.property(
        anyMechanism(),
        anyWishes,
        anySide,
        magnitude(0, 14),
        magnitude(0, 14),
        (mechanism, wishes, side, some, extra) => {
          const { pool } = traded(mechanism, wishes);
          const fewer = buyShares(mechanism, pool, side, some).sharesMicro;
          const more = buyShares(mechanism, pool, side, some + extra).sharesMicro;
          expect(more).toBeGreaterThanOrEqual(fewer - (mechanism.kind === "lmsr" ? noise(fewer) : 0n));
        },
      ),
      runs(2000),
    );
  });

  test("splitting it never buys more shares than the whole", () => {
    fc.assert(
      fc.property(
        anyMechanism(),
        anyWishes,
        anySide,
        magnitude(0, 14),
        magnitude(0, 14),
        (mechanism, wishes, side, first, second) => {
          const { pool } = traded(mechanism, wishes);
          const whole = buyShares(mechanism, pool, side, first + second).sharesMicro;
          const start = buyShares(mechanism, pool, side, first);
          const split = start.sharesMicro + buyShares(mechanism, start.pool, side, second).sharesMicro;
          expect(split).toBeLessThanOrEqual(whole + (mechanism.kind === "lmsr" ? noise(whole) : 0n));
        },
      ),
      runs(2000),
    );
  });

  test("spending what spendTo says lands on the target price", () => {
    const target = fc.double({ min: MIN_PRICE, max: MAX_PRICE, noNaN: true });
    fc.assert(
      fc.property(anyMechanism(), anyWishes, anySide, target, (mechanism, wishes, side, wanted) => {
        const { pool, price } = traded(mechanism, wishes);
        const current = side === "yes" ? price : 1 - price;
        const spend = spendTo(mechanism, pool, side, wanted);
        if (wanted <= current) {
          expect(spend).toBeLessThanOrEqual(Number(mechanism.fundMicro) * 1e-9);
          return;
        }
        const after = yesPriceOf(mechanism, buyShares(mechanism, pool, side, BigInt(Math.round(spend))).pool);
        // A micro moves the price by at most 1 / (y + n), and y + n >= 2·sqrt(k) = 2·F·sqrt(0.001) at the outermost p0.
        expect(Math.abs((side === "yes" ? after : 1 - after) - wanted)).toBeLessThanOrEqual(
          1e-9 + 40 / Number(mechanism.fundMicro),
        );
      }),
      runs(2000),
    );
  });
});
