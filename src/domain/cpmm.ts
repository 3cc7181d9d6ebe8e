import type { Side } from "./market.ts";
import type { Pool } from "./pool.ts";
import { poolOf, split } from "./pool.ts";

/**
 * Constant product: y·n = k over the pool's YES and NO shares, the FPMM of the Gnosis conditional tokens.
 * All of it is integer arithmetic, so it is exact; the retained reserve is rounded up, so k never falls.
 */

/** The opening pool for a fund of F: F·(min(1,(1-p0)/p0), min(1,p0/(1-p0))), so that n/(y+n) = p0. */
export function openCpmm(fundMicro: bigint, p0Ppm: number): Pool {
  const yes = BigInt(p0Ppm);
  const no = 1_000_000n - yes;
  return {
    yesMicro: yes > no ? (fundMicro * no) / yes : fundMicro,
    noMicro: no > yes ? (fundMicro * yes) / no : fundMicro,
  };
}

export function cpmmYesPrice(pool: Pool): number {
  return Number(pool.noMicro) / Number(pool.yesMicro + pool.noMicro);
}

/** Spending a mints a YES and a NO into the pool; the shares that keep y·n = k leave: s = own + a - k/(opposite + a). */
export function buyCpmm(pool: Pool, side: Side, netMicro: bigint): { sharesMicro: bigint; pool: Pool } {
  const [own, opposite] = split(pool, side);
  const oppositeAfter = opposite + netMicro;
  const ownAfter = (own * opposite + oppositeAfter - 1n) / oppositeAfter;
  return { sharesMicro: own + netMicro - ownAfter, pool: poolOf(side, ownAfter, oppositeAfter) };
}

/** Net micro-dollars that move the side's price to `target`: a = sqrt(k·t/(1-t)) - opposite. Zero or less if it is there. */
export function cpmmSpendTo(pool: Pool, side: Side, target: number): number {
  const [own, opposite] = split(pool, side).map(Number) as [number, number];
  return Math.sqrt(own * opposite * (target / (1 - target))) - opposite;
}
