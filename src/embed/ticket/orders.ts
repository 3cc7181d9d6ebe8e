import type { WireResult } from "../../contract/operations.ts";
import type { Side } from "../../domain/market/market.ts";
import { usdFromMicro } from "../../domain/money.ts";
import { type Api, Refused } from "../api.ts";
import type { QuoteDetail } from "../protocol.ts";

/** What a user wants to trade: dollars to spend, or shares to sell; millionths. */
export interface Order {
  marketId: string;
  side: Side;
  action: "buy" | "sell";
  sizeMicro: bigint;
}

export type Quoted = WireResult<"quoteTrade">;

/** A quote that the server executes as it stands, or not at all. */
export interface HeldQuote {
  order: Order;
  quoted: Quoted;
  /** The text that the trade hands back. */
  quote: string;
  expiresAt: string;
  /** Of its one purchase or sale: an attempt whose answer was lost is repeated under it, and never trades twice. */
  key: string;
  /** When it ends on the clock of `performance.now`: no later than the server ends it. */
  endsAtMs: number;
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

/** A quote to trade by. @throws Refused as the trade would be */
export async function holdQuote(api: Api, order: Order): Promise<HeldQuote> {
  // Counted from before the request, so that the time ends here first, by the time that the answer took.
  const askedAt = performance.now();
  const quoted = await api.post<Quoted>("/v1/quote", { ...termsOf(order), hold: true });
  const { quote = "", expiresAt = quoted.ts } = quoted;
  const endsAtMs = askedAt + Date.parse(expiresAt) - Date.parse(quoted.ts);
  return { order, quoted, quote, expiresAt, key: randomKey(), endsAtMs };
}

/** Not randomUUID, which browsers keep from pages without TLS, and a first look at pmctl has none. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What the page around is told of a quote. */
export function detailOf({ order, quoted }: HeldQuote): QuoteDetail {
  const { marketId, side, action } = order;
  const { amount, shares, avgPrice, fee, yesPriceBefore, yesPriceAfter, priceImpact } = quoted;
  return { marketId, side, action, amount, shares, avgPrice, fee, yesPriceBefore, yesPriceAfter, priceImpact };
}

/** Trades as was quoted. @throws Refused QUOTE_MOVED and QUOTE_EXPIRED among others; OUTCOME_UNKNOWN where no answer came */
export async function placeQuoted(api: Api, { order, quote, key }: HeldQuote): Promise<Trade> {
  const trade = await api
    .post<WireResult<"placeTrade">>("/v1/trade", { ...termsOf(order), quote }, key)
    .catch((error: unknown) => {
      // The server may have traded before the connection was lost.
      const isLost = error instanceof Refused && error.code === "UNREACHABLE";
      throw isLost ? new Refused("OUTCOME_UNKNOWN", error.message) : error;
    });
  return { ...trade, action: order.action };
}
