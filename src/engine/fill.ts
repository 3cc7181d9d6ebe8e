import { Fault, throwRefusal } from "../domain/fault.ts";
import { buyShares, canPayOff, type Side, sellToPool, yesPriceOf } from "../domain/market/market.ts";
import type { Pool } from "../domain/market/pool.ts";
import {
  averagePrice,
  decimalFromMicro,
  feeOn,
  isPriceAllowed,
  MAX_PRICE,
  MIN_PRICE,
  roundPrice,
} from "../domain/money.ts";
import {
  type Admitted,
  admitPurchase,
  admitSale,
  bound,
  EMPTY_PORTFOLIO,
  type FoundMarket,
} from "./admission/admission.ts";
import { requireMarket } from "./command.ts";
import type { Reader } from "./draft.ts";
import { type Market, type MarketState, type Portfolio, positionKey } from "./rows.ts";

interface Terms {
  marketId: string;
  side: Side;
  /** The jurisdiction in the user's token, which counts if the KYC event named none. */
  claimedJurisdiction: string | undefined;
}

/** A buyer's request. */
export interface BuyTerms extends Terms {
  /** The amount to spend, fee included. */
  amountMicro: bigint;
  /** Refuses a higher average price. */
  maxAvgPrice?: number | undefined;
  /** Refuses fewer shares. */
  minSharesMicro?: bigint | undefined;
}

/** A seller's request. */
export interface SellTerms extends Terms {
  sharesMicro: bigint;
  /** Refuses a lower average price. */
  minAvgPrice?: number | undefined;
  /** Refuses lower proceeds after the fee. */
  minProceedsMicro?: bigint | undefined;
}

/** The result of a trade at this instant, without its effects. Quotes and trades share this computation. */
export interface Fill {
  market: Market;
  marketState: MarketState;
  /** The gross amount. */
  amountMicro: bigint;
  feeMicro: bigint;
  sharesMicro: bigint;
  avgPrice: number;
  yesPriceAfter: number;
  /** The pool after the trade. */
  pool: Pool;
  /** The jurisdiction claimed by the user's token, if it decided: see `claimThatDecides`. */
  claimed: string | undefined;
}

/** A user's portfolio after the cost of a position changes by this amount. */
export function portfolioAfter({ exposureMicro }: Portfolio = EMPTY_PORTFOLIO, addedCostMicro: bigint): Portfolio {
  return { exposureMicro: exposureMicro + addedCostMicro };
}

/**
 * Buys for `amountMicro`. Errors in the documented order: market, its state, the user's status, limits, funds, a too
 * small amount, the price bound, the shares' payout, then the caller's own bounds.
 * @param traderId undefined for a quote without a user, which skips the checks of a user
 */
export function fillBuy(state: Reader, terms: BuyTerms, traderId: string | undefined, now: number): Fill {
  const found = requireMarket(state, terms.marketId);
  const admitted = admitPurchase(state, found, terms, traderId, now, throwRefusal);
  const fill = bought(found, admitted, terms);
  const { avgPrice, sharesMicro } = fill;
  if (terms.maxAvgPrice !== undefined && avgPrice > terms.maxAvgPrice)
    throw new Fault("SLIPPAGE", `The average price would be ${avgPrice}, above ${terms.maxAvgPrice}`, {
      detail: bound("maxAvgPrice", String(terms.maxAvgPrice), String(avgPrice)),
    });
  if (terms.minSharesMicro !== undefined && sharesMicro < terms.minSharesMicro)
    throw new Fault("SLIPPAGE", `It would buy ${decimalFromMicro(sharesMicro)} shares only`, {
      detail: bound("minShares", decimalFromMicro(terms.minSharesMicro), decimalFromMicro(sharesMicro)),
    });
  return fill;
}

/** The result of a purchase, from the market maker and the fee. */
function bought(
  { market, marketState }: FoundMarket,
  { policy, claimed }: Admitted,
  { side, amountMicro }: BuyTerms,
): Fill {
  const feeMicro = feeOn(amountMicro, policy.feeBps);
  const netMicro = amountMicro - feeMicro;
  if (netMicro <= 0n)
    throw new Fault("AMOUNT_TOO_SMALL", "Amount does not exceed the fee", {
      detail: bound("policy.feeBps", decimalFromMicro(feeMicro), decimalFromMicro(amountMicro)),
    });
  const { sharesMicro, pool } = buyShares(market, marketState, side, netMicro);
  if (sharesMicro <= 0n) throw new Fault("AMOUNT_TOO_SMALL", "Amount buys no share");
  const yesPriceAfter = requireInBounds(market, pool);
  if (!canPayOff(amountMicro, sharesMicro))
    throw new Fault("COST_EXCEEDS_PAYOUT", "With the fee this costs more than it can pay", {
      detail: bound("policy.feeBps", decimalFromMicro(sharesMicro), decimalFromMicro(amountMicro)),
    });
  const avgPrice = averagePrice(amountMicro, sharesMicro);
  return { market, marketState, amountMicro, feeMicro, sharesMicro, avgPrice, yesPriceAfter, pool, claimed };
}

/**
 * Sells `sharesMicro`; the fee comes out of the proceeds. The limits per trade and on exposure limit new risk, so they
 * never stop a seller from leaving. Otherwise the order of errors is that of a purchase, with holdings in place of
 * funds.
 */
export function fillSell(state: Reader, terms: SellTerms, traderId: string | undefined, now: number): Fill {
  const { marketId, side, sharesMicro, claimedJurisdiction } = terms;
  const found = requireMarket(state, marketId);
  const heldMicro = traderId === undefined ? 0n : heldBy(state, traderId, marketId, side);
  const claim = { claimedJurisdiction, sharesMicro, heldMicro };
  const admitted = admitSale(state, found, claim, traderId, now, throwRefusal);
  const fill = sold(found, admitted, terms);
  const { avgPrice } = fill;
  const proceedsMicro = fill.amountMicro - fill.feeMicro;
  if (terms.minAvgPrice !== undefined && avgPrice < terms.minAvgPrice)
    throw new Fault("SLIPPAGE", `The average price would be ${avgPrice}, below ${terms.minAvgPrice}`, {
      detail: bound("minAvgPrice", String(terms.minAvgPrice), String(avgPrice)),
    });
  if (terms.minProceedsMicro !== undefined && proceedsMicro < terms.minProceedsMicro)
    throw new Fault("SLIPPAGE", `It would pay ${decimalFromMicro(proceedsMicro)} USD only`, {
      detail: bound("minProceeds", decimalFromMicro(terms.minProceedsMicro), decimalFromMicro(proceedsMicro)),
    });
  return fill;
}

/** The result of a sale, from the market maker and the fee. */
function sold(
  { market, marketState }: FoundMarket,
  { policy, claimed }: Admitted,
  { side, sharesMicro }: SellTerms,
): Fill {
  const { proceedsMicro: amountMicro, pool } = sellToPool(market, marketState, side, sharesMicro);
  const feeMicro = feeOn(amountMicro, policy.feeBps);
  if (amountMicro <= feeMicro)
    throw new Fault("AMOUNT_TOO_SMALL", "Proceeds do not exceed the fee", {
      detail: bound("policy.feeBps", decimalFromMicro(feeMicro), decimalFromMicro(amountMicro)),
    });
  const yesPriceAfter = requireInBounds(market, pool);
  const avgPrice = averagePrice(amountMicro, sharesMicro);
  return { market, marketState, amountMicro, feeMicro, sharesMicro, avgPrice, yesPriceAfter, pool, claimed };
}

/** The shares of one side that a user holds. */
export function heldBy(state: Reader, traderId: string, marketId: string, side: Side): bigint {
  return state.get("position", positionKey(traderId, marketId, side))?.sharesMicro ?? 0n;
}

/** The YES price after the trade, with six decimals. */
function requireInBounds(market: Market, pool: Pool): number {
  const price = yesPriceOf(market, pool);
  if (!isPriceAllowed(price))
    throw new Fault("PRICE_BOUND", `The trade would move the price outside ${MIN_PRICE} to ${MAX_PRICE}`, {
      detail: { limit: `${MIN_PRICE} to ${MAX_PRICE}`, value: String(price) },
    });
  return roundPrice(price);
}
