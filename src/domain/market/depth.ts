import { MAX_PRICE } from "../money.ts";
import { buyShares, type Mechanism, type Side, spendTo, yesPriceOf } from "./market.ts";
import type { Pool } from "./pool.ts";

/** A rung of the ladder: up to `price` `sizeMicro` more shares can be bought than up to the previous rung. */
export interface DepthLevel {
  price: number;
  sizeMicro: bigint;
}

const MAX_LEVELS = 10;
const CENT_PPM = 10_000;
const MAX_PRICE_PPM = Math.round(MAX_PRICE * 1e6);

/**
 * What the market maker sells of a side, by price: to the next whole cent above the current price, then cent by cent,
 * at most ten levels and never past the highest price that a trade may leave. Sizes are before fees.
 *
 * Each size is the difference of two purchases from the pool as it stands, so the sum of the first k sizes is exactly
 * what one trade of the net amount up to that price buys. Levels in which nothing can be bought are left out.
 */
export function depthOf(mechanism: Mechanism, pool: Pool, side: Side): DepthLevel[] {
  const levels: DepthLevel[] = [];
  let boughtMicro = 0n;
  for (const price of rungs(mechanism, pool, side)) {
    const netMicro = BigInt(Math.floor(spendTo(mechanism, pool, side, price)));
    const sharesMicro = netMicro > 0n ? buyShares(mechanism, pool, side, netMicro).sharesMicro : 0n;
    if (sharesMicro <= boughtMicro) continue;
    levels.push({ price, sizeMicro: sharesMicro - boughtMicro });
    boughtMicro = sharesMicro;
  }
  return levels;
}

/**
 * The prices of the rungs. Counted in millionths, as prices are shown: a price shown as a whole cent starts one cent
 * above.
 */
function rungs(mechanism: Mechanism, pool: Pool, side: Side): number[] {
  const yesPpm = Math.round(yesPriceOf(mechanism, pool) * 1e6);
  const pricePpm = side === "yes" ? yesPpm : 1_000_000 - yesPpm;
  const first = Math.floor(pricePpm / CENT_PPM) + 1;
  return Array.from({ length: MAX_LEVELS }, (_, index) => Math.min((first + index) * CENT_PPM, MAX_PRICE_PPM))
    .filter((ppm, index, all) => ppm > pricePpm && ppm !== all[index - 1])
    .map((ppm) => ppm / 1e6);
}
