import type { StreamEvents } from "../../contract/resources/stream.ts";
import { payloadOf } from "../../domain/audit/audit-link.ts";
import { roundPrice } from "../../domain/money.ts";
import type { FollowedEntry } from "../../queries/stream.ts";

/** Something that happened in a market, as it travels. */
export type LiveEvent = {
  [Name in keyof StreamEvents]: { name: Name; marketId: string; data: StreamEvents[Name]; userId?: string };
}["price" | "trade" | "market" | "fill"];

const STATUS: Record<string, StreamEvents["market"]["status"]> = {
  "market.created": "open",
  "market.suspended": "suspended",
  "market.resumed": "open",
  "market.closed": "closed",
  "market.settled": "settled",
};

/** What an audit entry means to people who watch; nothing for entries that are the operator's. */
export function liveEventsOf(entry: FollowedEntry): LiveEvent[] {
  const { type, ts } = entry;
  const status = STATUS[type];
  if (status === undefined && type !== "trade.executed") return [];
  const payload = payloadOf(entry) as Record<string, string | undefined>;
  const { marketId, userId = "", tradeId = "" } = payload;
  if (marketId === undefined) return [];
  if (status !== undefined) {
    const data: StreamEvents["market"] = { marketId, status, ts };
    if (payload.outcome === "yes" || payload.outcome === "no") data.outcome = payload.outcome;
    return [{ name: "market", marketId, data }];
  }
  const side = payload.side === "no" ? "no" : "yes";
  const yesPriceAfter = Number(payload.yesPriceAfter);
  const [amount, fee, shares] = [Number(payload.amount), Number(payload.fee), Number(payload.shares)];
  const price = { marketId, yesPrice: yesPriceAfter, noPrice: roundPrice(1 - yesPriceAfter), ts };
  const fill = { tradeId, marketId, side, amount, fee, shares, yesPriceAfter, ts } as const;
  return [
    { name: "price", marketId, data: price },
    { name: "trade", marketId, data: { marketId, side, amount, shares, yesPriceAfter, ts } },
    { name: "fill", marketId, data: fill, userId },
  ];
}
