import { feeOn, isPriceAllowed } from "../money.ts";
import { type Mechanism, type Side, sellToPool, yesPriceOf } from "./market.ts";
import type { Pool } from "./pool.ts";

/**
 * What selling a whole position pays now: `amount` less `fee` of the quote of that sale. Of a position too large to be
 * sold within the bounds of the price, the shares that can be sold count, and the others count nothing. Whether the
 * market trades is not asked.
 * @param sharesMicro all shares of the position, 0 or more
 * @returns micro-dollars, never below 0
 */
export function sellValueOf(mechanism: Mechanism, pool: Pool, side: Side, sharesMicro: bigint, feeBps: number): bigint {
  const sellableMicro = sellableOf(mechanism, pool, side, sharesMicro);
  if (sellableMicro <= 0n) return 0n;
  const { proceedsMicro } = sellToPool(mechanism, pool, side, sellableMicro);
  return proceedsMicro - feeOn(proceedsMicro, feeBps);
}

/**
 * The most of `sharesMicro` whose sale leaves the price within its bounds. Each share sold lowers the side's price, so
 * it is found by bisection with the very check that a trade meets; nearly every position can be sold whole.
 * @returns millionths of a share
 */
export function sellableOf(mechanism: Mechanism, pool: Pool, side: Side, sharesMicro: bigint): bigint {
  const isSellable = (micro: bigint) => {
    const { pool: after } = sellToPool(mechanism, pool, side, micro);
    return isPriceAllowed(yesPriceOf(mechanism, after));
  };
  if (sharesMicro <= 0n || isSellable(sharesMicro)) return sharesMicro;
  let [sold, refused] = [0n, sharesMicro];
  while (refused - sold > 1n) {
    const middle = (sold + refused) / 2n;
    if (isSellable(middle)) sold = middle;
    else refused = middle;
  }
  return sold;
}
