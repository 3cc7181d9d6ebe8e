import {
  buyShares,
  canPayOff,
  type Mechanism,
  type Side,
  sellToPool,
  spendTo,
  yesPriceOf,
} from "../../domain/market/market.ts";
import type { Pool } from "../../domain/market/pool.ts";
import { sellableOf, sellValueOf } from "../../domain/market/sale.ts";
import { averagePrice, feeOn, isPriceAllowed, limitFromUsd, roundPrice, usdFromMicro } from "../../domain/money.ts";

/** What an order would come to at the prices on the screen, in the fields of the server's quote. */
export interface Estimate {
  /** USD. What a buyer pays, fee included; what a seller's shares bring, before the fee. */
  amount: number;
  fee: number;
  shares: number;
  avgPrice: number;
  yesPriceBefore: number;
  yesPriceAfter: number;
}

export type NoEstimate = "too-small" | "price-bound" | "cannot-pay-off";

/** The side to trade and how much of it: dollars to spend, or shares to sell; millionths. */
export interface Size {
  side: Side;
  action: "buy" | "sell";
  sizeMicro: bigint;
}

/** The engine's own computation, on the pool that the page knows of. The server's answer differs if others trade first. */
export function estimate(mechanism: Mechanism, pool: Pool, order: Size, feeBps: number): Estimate | NoEstimate {
  const fill = order.action === "buy" ? bought(mechanism, pool, order, feeBps) : sold(mechanism, pool, order, feeBps);
  if (typeof fill === "string") return fill;
  const price = yesPriceOf(mechanism, fill.pool);
  if (!isPriceAllowed(price)) return "price-bound";
  const { amountMicro, feeMicro, sharesMicro } = fill;
  if (order.action === "buy" && !canPayOff(amountMicro, sharesMicro)) return "cannot-pay-off";
  return {
    amount: usdFromMicro(amountMicro),
    fee: usdFromMicro(feeMicro),
    shares: usdFromMicro(sharesMicro),
    avgPrice: averagePrice(amountMicro, sharesMicro),
    yesPriceBefore: roundPrice(yesPriceOf(mechanism, pool)),
    yesPriceAfter: roundPrice(price),
  };
}

interface Fill {
  amountMicro: bigint;
  feeMicro: bigint;
  sharesMicro: bigint;
  pool: Pool;
}

function bought(mechanism: Mechanism, pool: Pool, { side, sizeMicro }: Size, feeBps: number): Fill | NoEstimate {
  const feeMicro = feeOn(sizeMicro, feeBps);
  if (sizeMicro <= feeMicro) return "too-small";
  const { sharesMicro, pool: after } = buyShares(mechanism, pool, side, sizeMicro - feeMicro);
  return sharesMicro <= 0n ? "too-small" : { amountMicro: sizeMicro, feeMicro, sharesMicro, pool: after };
}

function sold(mechanism: Mechanism, pool: Pool, { side, sizeMicro }: Size, feeBps: number): Fill | NoEstimate {
  const { proceedsMicro, pool: after } = sellToPool(mechanism, pool, side, sizeMicro);
  const feeMicro = feeOn(proceedsMicro, feeBps);
  if (proceedsMicro <= feeMicro) return "too-small";
  return { amountMicro: proceedsMicro, feeMicro, sharesMicro: sizeMicro, pool: after };
}

type Result = Pick<Estimate, "amount" | "fee" | "shares">;

/** What a trade gives the user: the shares of a purchase, the USD of a sale after its fee. */
export function resultOf(action: "buy" | "sell", { amount, fee, shares }: Result): number {
  return action === "buy" ? shares : amount - fee;
}

/** That result as the ticket shows it: in hundredths of a share or in cents, rounded down. The server takes it as the bound of the trade. */
export function shownResult(action: "buy" | "sell", result: Result): number {
  const micro = Math.round(resultOf(action, result) * 1e6);
  return Math.floor(micro / 10_000) / 100;
}

/** The page knows prices to six decimals: only the server can decide on smaller differences. */
const UNCERTAIN = 0.001;

/** Whether an order comes to less now than what the user was shown for it. */
export function isWorse(action: "buy" | "sell", now: Result | undefined, shown: Result): boolean {
  return now === undefined || resultOf(action, now) + UNCERTAIN < shownResult(action, shown);
}

/** The part of a large position that is offered for sale, in shares that the ticket can write out. */
const PART_MICRO = 10_000n;

/**
 * The shares that can be sold before the price meets its bound.
 * @returns millionths: all of them, or a part, down to a hundredth of a share
 */
export function sellableNow(mechanism: Mechanism, pool: Pool, side: Side, sharesMicro: bigint): bigint {
  const most = sellableOf(mechanism, pool, side, sharesMicro);
  return most < sharesMicro ? most - (most % PART_MICRO) : most;
}

/**
 * The fee that a quote was made with, in basis points: from a cent on, each has a fee of its own.
 * @param known kept where it explains the quote, which of less than a cent several do
 */
export function feeBpsOf({ amount, fee }: Pick<Estimate, "amount" | "fee">, known: number): number {
  const [amountMicro, feeMicro] = [limitFromUsd(amount), limitFromUsd(fee)];
  if (amountMicro <= 0n || feeOn(amountMicro, known) === feeMicro) return known;
  return Number((feeMicro * 10_000n) / amountMicro);
}

/** USD that shares pay when they are sold at a YES price, after the fee. */
export function sellValueAt(
  { mechanism, pool, feeBps }: { mechanism: Mechanism; pool: Pool; feeBps: number },
  { side, shares, yesPrice }: { side: Side; shares: number; yesPrice: number },
): number {
  const sharesMicro = BigInt(Math.round(shares * 1e6));
  return usdFromMicro(sellValueOf(mechanism, poolAt(mechanism, pool, yesPrice), side, sharesMicro, feeBps));
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
