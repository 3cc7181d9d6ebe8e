import * as fc from "fast-check";
import { expect, test } from "vitest";
import { buyShares, openPool, sellToPool, yesPriceOf } from "../../src/domain/market/market.ts";
import { sellValueOf } from "../../src/domain/market/sale.ts";
import { feeOn, isPriceAllowed } from "../../src/domain/money.ts";
import { amountOf, anyMechanism, anySide, anyWish, runs } from "./random.ts";

const OPEN = { fundMicro: 1_000_000_000n, p0Ppm: 500_000 };

test("by hand: 100 shares of an untouched pool of 1000 and 1000, at a fee of 1.5 %", () => {
  // (1000 + 100 - R)·(1000 - R) = 1000²: R = (2100 - √4010000) / 2 = 48.750780…; the fee is 0.731262 of it.
  const cpmm = { kind: "cpmm", ...OPEN } as const;
  expect(sellValueOf(cpmm, openPool(cpmm), "yes", 100_000_000n, 150)).toBe(48_019_518n);
  // b = 1000/ln 2, so R = b·ln(2 / (1 + 2^-0.1)) = 49.133739…; the fee is 0.737007 of it.
  const lmsr = { kind: "lmsr", ...OPEN } as const;
  expect(sellValueOf(lmsr, openPool(lmsr), "no", 100_000_000n, 150)).toBe(48_396_732n);
});

test("what was just bought is worth what it cost less both fees, however far it moved the price", () => {
  const market = { kind: "cpmm", fundMicro: 300_000_000n, p0Ppm: 220_000 } as const;
  // Of $500 the fee takes 5, and of the 495 that a sale brings it takes 4.95.
  const { sharesMicro, pool } = buyShares(market, openPool(market), "yes", 495_000_000n);
  expect(yesPriceOf(market, pool)).toBeGreaterThan(0.9);
  const value = sellValueOf(market, pool, "yes", sharesMicro, 100);
  expect(value).toBeGreaterThanOrEqual(490_049_998n);
  expect(value).toBeLessThanOrEqual(490_050_000n);
});

test("counts all shares while the price stays within its bounds, and beyond them the largest sale that does", () => {
  let cut = 0;
  fc.assert(
    fc.property(
      anyMechanism(),
      anyWish,
      anySide,
      anyWish,
      fc.integer({ min: 0, max: 1000 }),
      (market, traded, side, { perFund }, feeBps) => {
        const moved = buyShares(market, openPool(market), traded.side, amountOf(traded, market)).pool;
        const pool = isPriceAllowed(yesPriceOf(market, moved)) ? moved : openPool(market);
        const shares = amountOf({ side, perFund }, market);
        const value = sellValueOf(market, pool, side, shares, feeBps);
        const paid = (micro: bigint) => {
          const { proceedsMicro, pool: after } = sellToPool(market, pool, side, micro);
          return isPriceAllowed(yesPriceOf(market, after)) ? proceedsMicro - feeOn(proceedsMicro, feeBps) : undefined;
        };
        const sold = largest(shares, (micro) => paid(micro) !== undefined);
        expect(value).toBe(paid(sold) ?? 0n);
        if (sold < shares) cut++;
      },
    ),
    runs(1500),
  );
  expect(cut).toBeGreaterThan(50);
});

/** Found from below by ever smaller steps. */
function largest(most: bigint, fits: (micro: bigint) => boolean): bigint {
  let found = 0n;
  for (let step = 1n << BigInt(most.toString(2).length); step > 0n; step /= 2n)
    if (found + step <= most && fits(found + step)) found += step;
  return found;
}
