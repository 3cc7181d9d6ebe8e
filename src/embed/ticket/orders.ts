import type { WireResult } from "../../contract/operations.ts";
import { usdFromMicro } from "../../domain/money.ts";
import { type Api, Refused } from "../api.ts";
import type { QuoteDetail } from "../protocol.ts";
import { type Size, shownResult } from "./quote.ts";

/** What a user wants to trade. */
export interface Order extends Size {
  marketId: string;
}

export type Quoted = WireResult<"quoteTrade">;

/** An order and the quote that the user was shown for it. The trade gives what was shown or better, or is refused. */
export interface QuotedOrder {
  order: Order;
  quote: Quoted;
  /** The `Idempotency-Key` of its one trade: an attempt whose answer was lost is repeated under it, and never trades twice. */
  key: string;
}

export type Trade = Omit<WireResult<"placeTrade">, "action"> & { action: "buy" | "sell" };

function termsOf({ marketId, side, action, sizeMicro }: Order) {
  const size = usdFromMicro(sizeMicro);
  return { marketId, selection: { side, action }, ...(action === "buy" ? { amount: size } : { shares: size }) };
}

/** What an order would come to for the user of the token. @throws Refused as the trade would be */
export function askQuote(api: Api, order: Order): Promise<Quoted> {
  return api.post<Quoted>("/v1/quote", termsOf(order));
}

/** Not randomUUID: browsers keep it from pages without TLS, such as a first local server. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What the page around is told of a quote. */
export function detailOf({ order, quote }: QuotedOrder): QuoteDetail {
  const { marketId, side, action } = order;
  const { amount, shares, avgPrice, fee, yesPriceBefore, yesPriceAfter, priceImpact } = quote;
  return { marketId, side, action, amount, shares, avgPrice, fee, yesPriceBefore, yesPriceAfter, priceImpact };
}

/**
 * Trades with the figures that were shown as bounds.
 * @throws Refused SLIPPAGE where the trade would give less, among others; OUTCOME_UNKNOWN where no answer came
 */
export async function placeQuoted(api: Api, { order, quote, key }: QuotedOrder): Promise<Trade> {
  const bound = shownResult(order.action, quote);
  // Proceeds below a cent are shown as zero, and a bound of zero bounds nothing.
  const bounds = bound === 0 ? {} : order.action === "buy" ? { minShares: bound } : { minProceeds: bound };
  const trade = await api
    .post<WireResult<"placeTrade">>("/v1/trade", { ...termsOf(order), ...bounds }, key)
    .catch((error: unknown) => {
      // The server may have traded before the connection was lost.
      const isLost = error instanceof Refused && error.code === "UNREACHABLE";
      throw isLost ? new Refused("OUTCOME_UNKNOWN", error.message) : error;
    });
  return { ...trade, action: order.action };
}
