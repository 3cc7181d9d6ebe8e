import { walletOf } from "../domain/accounts.ts";
import { Fault } from "../domain/fault.ts";
import {
  buyShares,
  canPayOff,
  requireTradable,
  type Side,
  sellToPool,
  statusAt,
  yesPriceOf,
} from "../domain/market/market.ts";
import type { Pool } from "../domain/market/pool.ts";
import {
  averagePrice,
  decimalFromMicro,
  feeOn,
  isPriceAllowed,
  limitFromUsd,
  MAX_PRICE,
  MIN_PRICE,
  roundPrice,
} from "../domain/money.ts";
import { type Policy, policyAt } from "../domain/policy/policy.ts";
import { exposureCap, requireEligible } from "../domain/trader.ts";
import { requireMarket, requireTenant } from "./command.ts";
import { insufficientFunds, type Reader } from "./draft.ts";
import { type Market, type MarketState, type Portfolio, positionKey, type Trader } from "./rows.ts";
import { newTrader } from "./traders.ts";

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

const EMPTY_PORTFOLIO: Portfolio = { exposureMicro: 0n };

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
  const { amountMicro } = terms;
  const admitted = requireAdmitted(state, terms, traderId, now);
  const { policy, trader } = admitted;
  if (amountMicro > limitFromUsd(policy.maxTradeUsd))
    throw new Fault("MAX_TRADE_EXCEEDED", `Amount is over the limit of ${policy.maxTradeUsd} USD per trade`, {
      detail: bound("policy.maxTradeUsd", String(policy.maxTradeUsd), decimalFromMicro(amountMicro)),
    });
  if (trader) {
    const { exposureMicro } = state.get("portfolio", trader.id) ?? EMPTY_PORTFOLIO;
    const { capMicro, field } = exposureCap(trader, policy);
    if (exposureMicro + amountMicro > capMicro)
      throw new Fault(
        "EXPOSURE_EXCEEDED",
        `The trade would take exposure over the cap of ${decimalFromMicro(capMicro)} USD`,
        { detail: bound(field, decimalFromMicro(capMicro), decimalFromMicro(exposureMicro + amountMicro)) },
      );
    const balanceMicro = state.get("account", walletOf(trader.id))?.balanceMicro ?? 0n;
    if (balanceMicro < amountMicro) throw insufficientFunds(balanceMicro, amountMicro);
  }
  const fill = bought(admitted, terms);
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
function bought({ market, marketState, policy, claimed }: Admitted, { side, amountMicro }: BuyTerms): Fill {
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
  const { sharesMicro } = terms;
  const admitted = requireAdmitted(state, terms, traderId, now);
  const { trader } = admitted;
  const held = trader && heldMicro(state, trader.id, terms);
  if (held !== undefined && held < sharesMicro)
    throw new Fault("INSUFFICIENT_SHARES", "Not enough shares", {
      detail: { limit: decimalFromMicro(held), value: decimalFromMicro(sharesMicro) },
    });
  const fill = sold(admitted, terms);
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
function sold({ market, marketState, policy, claimed }: Admitted, { side, sharesMicro }: SellTerms): Fill {
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

/**
 * The detail of an exceeded bound for `pmctl why`: the field that states it, the limit and the value. Amounts are decimals.
 */
function bound(field: string, limit: string, value: string): { field: string; limit: string; value: string } {
  return { field, limit, value };
}

function heldMicro(state: Reader, traderId: string, { marketId, side }: { marketId: string; side: Side }): bigint {
  return state.get("position", positionKey(traderId, marketId, side))?.sharesMicro ?? 0n;
}

interface Admitted {
  market: Market;
  marketState: MarketState;
  /** The policy in force at this instant: an ended override does not count, even if its end is not recorded yet. */
  policy: Policy;
  trader: Trader | undefined;
  claimed: string | undefined;
}

/** The common preconditions of buying and selling: a market that trades, and a user who may trade. */
function requireAdmitted(state: Reader, terms: Terms, traderId: string | undefined, now: number): Admitted {
  const { marketId, claimedJurisdiction } = terms;
  const { market, marketState } = requireMarket(state, marketId);
  requireTradable(statusAt({ status: marketState.status, closeAt: market.closeAt }, now), market.closeAt);
  const tenant = requireTenant(state);
  const policy = policyAt(tenant, now);
  if (traderId === undefined) return { market, marketState, policy, trader: undefined, claimed: undefined };
  const trader = state.get("trader", traderId) ?? newTrader(traderId, now);
  requireEligible(trader, policy, { kycRequired: tenant.kycRequired, claimed: claimedJurisdiction });
  return { market, marketState, policy, trader, claimed: claimThatDecides(trader, policy, claimedJurisdiction) };
}

/** The token's claim counts only if the policy requires a jurisdiction and the identity check named none. */
function claimThatDecides({ jurisdiction }: Trader, policy: Policy, claimed: string | undefined): string | undefined {
  const { allowed, blocked } = policy.jurisdictions;
  return jurisdiction === null && allowed.length + blocked.length > 0 ? claimed : undefined;
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
