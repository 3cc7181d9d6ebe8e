import { MAX_PRICE } from "../money.ts";
import { buyShares, type Mechanism, type Side, spendTo, yesPriceOf } from "./market.ts";
import type { Pool } from "./pool.ts";

/** A level of the ladder: `sizeMicro` more shares can be bought up to `price` than up to the previous level. */
export interface DepthLevel {
  price: number;
  sizeMicro: bigint;
}

const MAX_LEVELS = 10;
const CENT_PPM = 10_000;
const MAX_PRICE_PPM = Math.round(MAX_PRICE * 1e6);

/**
 * The shares that the market maker sells of a side, by price: up to the next whole cent above the current price, then
 * cent by cent, at most ten levels and never past the highest allowed price. Sizes are before fees.
 *
 * Each size is the difference of two purchases from the current pool, so the sum of the first k sizes is exactly what
 * one trade of the net amount up to that price buys. Empty levels are omitted.
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
 * The prices of the levels. Counted in millionths, as prices are shown: a price shown as a whole cent starts one cent
 * higher.
 */
function rungs(mechanism: Mechanism, pool: Pool, side: Side): number[] {
  const yesPpm = Math.round(yesPriceOf(mechanism, pool) * 1e6);
  const pricePpm = side === "yes" ? yesPpm : 1_000_000 - yesPpm;
  const first = Math.floor(pricePpm / CENT_PPM) + 1;
  return Array.from({ length: MAX_LEVELS }, (_, index) => Math.min((first + index) * CENT_PPM, MAX_PRICE_PPM))
    .filter((ppm, index, all) => ppm > pricePpm && ppm !== all[index - 1])
    .map((ppm) => ppm / 1e6);
}
