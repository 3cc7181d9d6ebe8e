import * as fc from "fast-check";
import type { MarketKind, Mechanism, Side } from "../../src/domain/market/market.ts";

/** Every run repeats the same cases; a seed of one's own explores others: PMCTL_TEST_SEED=1 npx vitest run test/domain */
export const SEED = Number(process.env.PMCTL_TEST_SEED ?? 20_260_101);

export function runs(numRuns: number): { seed: number; numRuns: number } {
  return { seed: SEED, numRuns };
}

/**
 * Evenly spread over the orders of magnitude between 10^low and 10^high, whole numbers. Of all doubles from 0 to 10 most
 * are almost 0, so the exponent is a whole number of thousandths.
 */
export function magnitude(low: number, high: number): fc.Arbitrary<bigint> {
  return fc
    .integer({ min: Math.round(low * 1000), max: Math.round(high * 1000) })
    .map((thousandths) => BigInt(Math.max(1, Math.round(10 ** (thousandths / 1000)))));
}

export const anySide: fc.Arbitrary<Side> = fc.constantFrom("yes", "no");
export const anyKind: fc.Arbitrary<MarketKind> = fc.constantFrom("cpmm", "lmsr");

/** Any market that may be created: p0 from 0.001 to 0.999, F from 1 USD up to 10^maxUsd. */
export function anyMechanism(maxUsd = 9, kind: fc.Arbitrary<MarketKind> = anyKind): fc.Arbitrary<Mechanism> {
  return fc.record({
    kind,
    fundMicro: magnitude(6, 6 + maxUsd),
    p0Ppm: fc.oneof(fc.integer({ min: 1_000, max: 999_000 }), fc.constantFrom(1_000, 500_000, 999_000)),
  });
}

/** A wish to trade; the amount is relative to F, from a billionth of it to ten times as much. */
export interface Wish {
  side: Side;
  perFund: number;
}

export const anyWish: fc.Arbitrary<Wish> = fc.record({
  side: anySide,
  perFund: fc.double({ min: -9, max: 1, noNaN: true }).map((exponent) => 10 ** exponent),
});

export const anyWishes = fc.array(anyWish, { minLength: 1, maxLength: 25, size: "max" });

export function amountOf(wish: Wish, { fundMicro }: Mechanism): bigint {
  return BigInt(Math.max(1, Math.round(Number(fundMicro) * wish.perFund)));
}
