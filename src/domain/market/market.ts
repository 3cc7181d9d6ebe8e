import { Fault, type Refuse, throwRefusal } from "../fault.ts";
import { roundPrice } from "../money.ts";
import { MARKET_MAKERS, type MarketKind } from "./market-makers.ts";
import type { Bought, Opening, Pool, Side, Sold } from "./pool.ts";

export type { MarketKind, Side };
/** The stored status. `closed` is not stored, because it follows from the clock (see `statusAt`). */
export type StoredStatus = "open" | "suspended" | "settled";
export type MarketStatus = StoredStatus | "closed";

/** The market maker and its opening terms, fixed at creation. */
export interface Mechanism extends Opening {
  kind: MarketKind;
}

/** The opening pool: as many complete sets as the house provides dollars, less the house's own shares. */
export function openPool(mechanism: Mechanism): Pool {
  return MARKET_MAKERS[mechanism.kind].open(mechanism);
}

/** The unrounded YES price, in (0, 1). */
export function yesPriceOf(mechanism: Mechanism, pool: Pool): number {
  return MARKET_MAKERS[mechanism.kind].yesPrice(mechanism, pool);
}

/** Both prices with six decimals. They add up to one because NO is computed from YES in millionths. */
export function pricesOf(mechanism: Mechanism, pool: Pool): { yes: number; no: number } {
  const yes = roundPrice(yesPriceOf(mechanism, pool));
  return { yes, no: roundPrice(1 - yes) };
}

/** The shares bought for `netMicro` (after the fee), and the pool after the purchase. The caller checks the price bound. */
export function buyShares(mechanism: Mechanism, pool: Pool, side: Side, netMicro: bigint): Bought {
  return MARKET_MAKERS[mechanism.kind].buy(mechanism, pool, side, netMicro);
}

/** Whether a purchase for `amountMicro`, fee included, can win: a share pays at most a dollar. */
export function canPayOff(amountMicro: bigint, sharesMicro: bigint): boolean {
  return sharesMicro >= amountMicro;
}

/**
 * The proceeds of returning `sharesMicro` to the pool, before the fee, and the pool after that. As many complete sets
 * are burned, so escrow and outstanding shares fall together. The caller checks the price bound.
 */
export function sellToPool(mechanism: Mechanism, pool: Pool, side: Side, sharesMicro: bigint): Sold {
  return MARKET_MAKERS[mechanism.kind].sell(mechanism, pool, side, sharesMicro);
}

/** Unrounded net micro-dollars that raise the side's price to `target`: the levels of the depth ladder. */
export function spendTo(mechanism: Mechanism, pool: Pool, side: Side, target: number): number {
  return MARKET_MAKERS[mechanism.kind].spendTo(mechanism, pool, side, target);
}

/** A suspended market past its closing time also reports `closed`; only `settled` is final. */
export function statusAt(market: { status: StoredStatus; closeAt: number }, now: number): MarketStatus {
  if (market.status === "settled") return "settled";
  return now >= market.closeAt ? "closed" : market.status;
}

/** The instant at which `statusAt` changes by time alone; `Infinity` if only a commit changes it. */
export function statusHoldsUntil(market: { status: StoredStatus; closeAt: number }, now: number): number {
  return market.status === "settled" || now >= market.closeAt ? Number.POSITIVE_INFINITY : market.closeAt;
}

/**
 * Requires that the market accepts trades at this instant.
 * @param closeAt milliseconds since the epoch
 * @param refuse takes the refusal; the default throws it
 */
export function requireTradable(status: MarketStatus, closeAt: number, refuse: Refuse = throwRefusal): void {
  if (status === "open") return;
  const detail = { value: status, closeAt: new Date(closeAt).toISOString() };
  if (status === "settled") refuse(new Fault("MARKET_SETTLED", "Market is settled", { detail }));
  else if (status === "closed") refuse(new Fault("MARKET_CLOSED", "Market is closed", { detail }));
  else refuse(new Fault("MARKET_SUSPENDED", "Market is suspended", { detail }));
}
