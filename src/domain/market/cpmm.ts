import { type Bought, type Pool, poolOf, type Side, type Sold, split } from "./pool.ts";

/**
 * Constant product: y·n = k over the pool's YES and NO shares, the FPMM of the Gnosis conditional tokens. All
 * arithmetic uses integers, so it is exact; the retained reserve is rounded up, so k never falls.
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

/** The unrounded YES price: n/(y+n). */
export function cpmmYesPrice(pool: Pool): number {
  return Number(pool.noMicro) / Number(pool.yesMicro + pool.noMicro);
}

/** Spending a mints a YES and a NO shares into the pool; the shares that keep y·n = k leave: s = own + a - k/(opposite + a). */
export function buyCpmm(pool: Pool, side: Side, netMicro: bigint): Bought {
  const [own, opposite] = split(pool, side);
  const oppositeAfter = opposite + netMicro;
  const ownAfter = (own * opposite + oppositeAfter - 1n) / oppositeAfter;
  return { sharesMicro: own + netMicro - ownAfter, pool: poolOf(side, ownAfter, oppositeAfter) };
}

/**
 * Selling s shares burns R complete sets from the pool: (own + s - R)·(opposite - R) = k, solved for R. It equals
 * buying s shares of the other side for s - R, and pairing them. R is the largest integer that keeps k.
 */
export function sellCpmm(pool: Pool, side: Side, sharesMicro: bigint): Sold {
  const [own, opposite] = split(pool, side);
  const total = own + opposite + sharesMicro;
  const proceedsMicro = (total - ceilSqrt(total * total - 4n * sharesMicro * opposite)) / 2n;
  return { proceedsMicro, pool: poolOf(side, own + sharesMicro - proceedsMicro, opposite - proceedsMicro) };
}

/** The smallest integer whose square is at least n. Newton's method from above, starting near the root at the double's value. */
function ceilSqrt(n: bigint): bigint {
  if (n <= 0n) return 0n;
  const guess = BigInt(Math.ceil(Math.sqrt(Number(n)) * (1 + 2 ** -50))) + 1n;
  let root = guess;
  for (let next = (root + n / root) / 2n; next < root; next = (root + n / root) / 2n) root = next;
  return root * root === n ? root : root + 1n;
}

/**
 * Net micro-dollars that move the side's price to `target`: a = sqrt(k·t/(1-t)) - opposite. At most zero if it is already there.
 */
export function cpmmSpendTo(pool: Pool, side: Side, target: number): number {
  const [own, opposite] = split(pool, side).map(Number) as [number, number];
  return Math.sqrt(own * opposite * (target / (1 - target))) - opposite;
}
