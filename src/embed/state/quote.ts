import { buyShares, canPayOff, type Mechanism, type Side, spendTo, yesPriceOf } from "../../domain/market/market.ts";
import type { Pool } from "../../domain/market/pool.ts";
import { averagePrice, feeOn, MAX_PRICE, MIN_PRICE, roundPrice } from "../../domain/money.ts";

/** What a purchase would come to at the prices on the screen; all amounts in micro-dollars and micro-shares. */
export interface Quote {
  amountMicro: bigint;
  feeMicro: bigint;
  sharesMicro: bigint;
  avgPrice: number;
  yesPriceAfter: number;
  /** What the shares pay if the side wins: a dollar each. */
  payoutMicro: bigint;
}

/** How much worse than the quote the average price may be before the trade is called off. */
const SLIPPAGE = 0.02;

/** The slippage guard for a quote: the highest average price that is still taken, to six decimals. */
export function worstPrice(avgPrice: number): number {
  return Math.min(1, Math.ceil(avgPrice * (1 + SLIPPAGE) * 1e6) / 1e6);
}

export type NoQuote = "too-small" | "price-bound" | "cannot-pay-off";

/** The engine's own computation, on the pool that the page knows of. The server's answer may differ if others trade first. */
export function quoteBuy(
  mechanism: Mechanism,
  pool: Pool,
  { side, amountMicro, feeBps }: { side: Side; amountMicro: bigint; feeBps: number },
): Quote | NoQuote {
  const feeMicro = feeOn(amountMicro, feeBps);
  const netMicro = amountMicro - feeMicro;
  if (netMicro <= 0n) return "too-small";
  const { sharesMicro, pool: after } = buyShares(mechanism, pool, side, netMicro);
  if (sharesMicro <= 0n) return "too-small";
  const price = yesPriceOf(mechanism, after);
  if (!(price >= MIN_PRICE && price <= MAX_PRICE)) return "price-bound";
  if (!canPayOff(amountMicro, sharesMicro)) return "cannot-pay-off";
  return {
    amountMicro,
    feeMicro,
    sharesMicro,
    avgPrice: averagePrice(amountMicro, sharesMicro),
    yesPriceAfter: roundPrice(price),
    payoutMicro: sharesMicro,
  };
}

/**
 * The pool after others moved the price: events tell the price, and a purchase of the right size leads there from the
 * pool that was known. Good to the six decimals of the price.
 */
export function poolAt(mechanism: Mechanism, pool: Pool, yesPrice: number): Pool {
  const current = yesPriceOf(mechanism, pool);
  if (roundPrice(current) === yesPrice) return pool;
  const side: Side = yesPrice > current ? "yes" : "no";
  const netMicro = BigInt(Math.round(spendTo(mechanism, pool, side, side === "yes" ? yesPrice : 1 - yesPrice)));
  if (netMicro <= 0n) return pool;
  return buyShares(mechanism, pool, side, netMicro).pool;
}
