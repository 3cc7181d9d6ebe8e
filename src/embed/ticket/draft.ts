import type { Side } from "../../domain/market/market.ts";
import type { Words } from "../words.ts";
import { amountIn, amountText } from "./amount.ts";
import type { Order, Trade } from "./orders.ts";
import type { NoEstimate } from "./quote.ts";

/** What opens the ticket from outside: a side of a card that was tapped, or a position to sell. */
export interface Wish {
  side: Side;
  action: "buy" | "sell";
  /** The whole position. */
  all?: boolean;
}

/** Shares by side, millionths. */
export type Held = Readonly<Record<Side, bigint>>;

/** An order as it is typed. */
export interface Draft {
  side: Side;
  action: "buy" | "sell";
  text: string;
}

const FIRST_AMOUNT = "25";
/** Amounts are shown in cents: less would be offered as $0.00. */
const CENT_MICRO = 10_000n;

/** @param sellable of each side, what can be sold now */
export function draftOf({ side, action, all = false }: Wish, sellable: Held, locale: string): Draft {
  if (action === "buy") return { side, action, text: FIRST_AMOUNT };
  return { side, action, text: all && sellable[side] > 0n ? amountText(sellable[side], locale) : "" };
}

/** The draft to go on with after a trade: the same purchase, or a sale of what is left. */
export function draftAfter({ side, action, position }: Trade, { text }: Draft): Draft {
  if (action === "buy") return { side, action, text };
  return position.shares > 0 ? { side, action, text: "" } : { side, action: "buy", text: FIRST_AMOUNT };
}

/** The order that a draft makes, or in words why it makes none yet. */
export function orderOf({ side, action, text }: Draft, marketId: string, locale: string): Order | Words {
  const sizeMicro = amountIn(text, locale);
  if (action === "buy" && typeof sizeMicro === "bigint" && sizeMicro > 0n && sizeMicro < CENT_MICRO)
    return { key: "refusal.tooSmall" };
  if (typeof sizeMicro === "bigint" && sizeMicro > 0n) return { marketId, side, action, sizeMicro };
  if (sizeMicro === "unreadable" && text.trim() !== "")
    return { key: "ticket.unreadable", values: { example: exampleIn(locale) } };
  return { key: action === "buy" ? "ticket.enterAmount" : "ticket.enterShares" };
}

/** A number that shows how the locale writes thousands and decimals. */
function exampleIn(locale: string): string {
  const tag = new Intl.Locale(locale, { numberingSystem: "latn" });
  return new Intl.NumberFormat(tag, { minimumFractionDigits: 2, useGrouping: "always" }).format(1000.5);
}

export const NOT_ESTIMATED: Record<NoEstimate, Words> = {
  "too-small": { key: "refusal.tooSmall" },
  "price-bound": { key: "refusal.priceBound" },
  "cannot-pay-off": { key: "refusal.payout" },
};

export interface Limits {
  maxTradeUsd: number;
  /** USD in the wallet; undefined while that is not known. */
  balanceUsd: number | undefined;
  held: Held;
}

/** The limit that the server would refuse an order for, as far as the page knows. */
export function overLimit(
  { side, action, sizeMicro }: Order,
  { maxTradeUsd, balanceUsd, held }: Limits,
): Words | undefined {
  if (action === "sell") return sizeMicro > held[side] ? { key: "refusal.shares" } : undefined;
  const usd = Number(sizeMicro) / 1e6;
  if (usd > maxTradeUsd) return { key: "refusal.maxTrade", values: { limit: maxTradeUsd } };
  if (balanceUsd === undefined || usd <= balanceUsd) return undefined;
  return { key: "refusal.wallet", values: { limit: balanceUsd }, offer: "deposit" };
}
