import { feeOn, isPriceAllowed } from "../money.ts";
import { type Mechanism, type Side, sellToPool, yesPriceOf } from "./market.ts";
import type { Pool } from "./pool.ts";

/**
 * The proceeds of selling a whole position now: `amount` less `fee` of that sale's quote. If the position is too large
 * for the price bounds, only the sellable shares count. The market's state is ignored.
 * @param sharesMicro all shares of the position, 0 or more
 * @returns micro-dollars, never negative
 */
export function sellValueOf(mechanism: Mechanism, pool: Pool, side: Side, sharesMicro: bigint, feeBps: number): bigint {
  const sellableMicro = sellableOf(mechanism, pool, side, sharesMicro);
  if (sellableMicro <= 0n) return 0n;
  const { proceedsMicro } = sellToPool(mechanism, pool, side, sellableMicro);
  return proceedsMicro - feeOn(proceedsMicro, feeBps);
}

/**
 * The most of `sharesMicro` that can be sold within the price bounds. Each sold share lowers the side's price, so
 * bisection finds the number, with the same check as for a trade. Nearly every position can be sold completely.
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
