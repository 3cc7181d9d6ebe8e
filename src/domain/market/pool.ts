export const SIDES = ["yes", "no"] as const;
export type Side = (typeof SIDES)[number];

/** The market maker's own YES and NO shares, in micro-shares. */
export interface Pool {
  yesMicro: bigint;
  noMicro: bigint;
}

/** The opening terms of a market maker. */
export interface Opening {
  /** F: the most that the house can lose, in micro-dollars. */
  fundMicro: bigint;
  /** Initial YES probability in millionths. */
  p0Ppm: number;
}

/** The shares that a purchase takes from a pool, and the pool after it. */
export interface Bought {
  sharesMicro: bigint;
  pool: Pool;
}

/** The proceeds of returning shares to a pool, before the fee, and the pool after it. */
export interface Sold {
  proceedsMicro: bigint;
  pool: Pool;
}

/** The pool as seen from one side: its own reserve first, the opposite reserve second. */
export function split(pool: Pool, side: Side): [own: bigint, opposite: bigint] {
  return side === "yes" ? [pool.yesMicro, pool.noMicro] : [pool.noMicro, pool.yesMicro];
}

/** The inverse of `split`. */
export function poolOf(side: Side, own: bigint, opposite: bigint): Pool {
  return side === "yes" ? { yesMicro: own, noMicro: opposite } : { yesMicro: opposite, noMicro: own };
}
