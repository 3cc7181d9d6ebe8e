import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buyShares, openPool, spendTo } from "../../src/domain/market/market.ts";
import { feeOn } from "../../src/domain/money.ts";
import { exactShares } from "./exact-lmsr.ts";
import { amountOf, anyMechanism, anySide, anyWishes, magnitude, runs } from "./random.ts";

describe("rounding is against the trader, by at most one micro per trade", () => {
  test("constant product: the shares are the exact rational number, rounded down", () => {
    fc.assert(
      fc.property(
        anyMechanism(9, fc.constant("cpmm" as const)),
        anyWishes,
        anySide,
        magnitude(0, 15),
        (mechanism, wishes, side, netMicro) => {
          let pool = openPool(mechanism);
          for (const wish of wishes) pool = buyShares(mechanism, pool, wish.side, amountOf(wish, mechanism)).pool;
          const own = side === "yes" ? pool.yesMicro : pool.noMicro;
          const opposite = side === "yes" ? pool.noMicro : pool.yesMicro;
          // shares = own + a - own·opposite/(opposite + a), as one fraction.
          const numerator = (own + netMicro) * (opposite + netMicro) - own * opposite;
          expect(buyShares(mechanism, pool, side, netMicro).sharesMicro).toBe(numerator / (opposite + netMicro));
        },
      ),
      runs(2000),
    );
  });

  test("logarithmic: never above the exact number, and below it by a micro-share and thirteen digits' worth at the most", () => {
    fc.assert(
      fc.property(
        anyMechanism(9, fc.constant("lmsr" as const)),
        anySide,
        fc.double({ min: 0.002, max: 0.998, noNaN: true }),
        anySide,
        fc.double({ min: -9, max: 0, noNaN: true }),
        (mechanism, movedSide, movedTo, side, exponent) => {
          let pool = openPool(mechanism);
          const move = Math.round(spendTo(mechanism, pool, movedSide, movedTo));
          if (move > 0) pool = buyShares(mechanism, pool, movedSide, BigInt(move)).pool;
          const most = Math.max(1, spendTo(mechanism, pool, side, 0.999));
          const netMicro = BigInt(Math.max(1, Math.round(most * 10 ** exponent)));
          const exact = exactShares(mechanism, pool, side, netMicro);
          const { sharesMicro } = buyShares(mechanism, pool, side, netMicro);
          expect(sharesMicro).toBeLessThanOrEqual(exact);
          expect(exact - sharesMicro).toBeLessThanOrEqual(1n + exact / 10n ** 13n);
        },
      ),
      runs(1500),
    );
  });

  test("the fee is the exact fraction rounded up to a micro-dollar", () => {
    fc.assert(
      fc.property(magnitude(0, 15), fc.integer({ min: 0, max: 1000 }), (amountMicro, feeBps) => {
        const scaled = amountMicro * BigInt(feeBps);
        const fee = feeOn(amountMicro, feeBps);
        expect(fee * 10_000n).toBeGreaterThanOrEqual(scaled);
        expect((fee - 1n) * 10_000n).toBeLessThan(scaled === 0n ? 0n : scaled);
      }),
      runs(1000),
    );
  });
});
