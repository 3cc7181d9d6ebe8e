import type { StreamEvents } from "../../contract/resources/stream.ts";
import type { AuditPayloads } from "../../domain/audit/audit-payloads.ts";
import { roundPrice } from "../../domain/money.ts";
import type { FollowedEntry } from "../../queries/stream.ts";

/** Something that happened in a market, as it travels. */
export type LiveEvent = {
  [Name in keyof StreamEvents]: { name: Name; marketId: string; data: StreamEvents[Name]; userId?: string };
}["price" | "trade" | "market" | "fill"];

/** What an audit entry means to people who watch; nothing for entries that are the operator's. */
export function liveEventsOf({ content, ts }: FollowedEntry): LiveEvent[] {
  switch (content?.type) {
    case "trade.executed":
      return tradeEvents(content.payload, ts);
    case "market.created":
    case "market.resumed":
      return marketEvent(content.payload, { status: "open", ts });
    case "market.suspended":
      return marketEvent(content.payload, { status: "suspended", ts });
    case "market.closed":
      return marketEvent(content.payload, { status: "closed", ts });
    case "market.settled":
      return marketEvent(content.payload, { status: "settled", ts, outcome: content.payload.outcome });
    default:
      return [];
  }
}

function marketEvent({ marketId }: { marketId: string }, state: Omit<StreamEvents["market"], "marketId">): LiveEvent[] {
  return [{ name: "market", marketId, data: { marketId, ...state } }];
}

function tradeEvents(payload: AuditPayloads["trade.executed"], ts: string): LiveEvent[] {
  const { tradeId, marketId, userId, side } = payload;
  const yesPriceAfter = Number(payload.yesPriceAfter);
  const [amount, fee, shares] = [Number(payload.amount), Number(payload.fee), Number(payload.shares)];
  const price = { marketId, yesPrice: yesPriceAfter, noPrice: roundPrice(1 - yesPriceAfter), ts };
  const fill = { tradeId, marketId, side, amount, fee, shares, yesPriceAfter, ts };
  return [
    { name: "price", marketId, data: price },
    { name: "trade", marketId, data: { marketId, side, amount, shares, yesPriceAfter, ts } },
    { name: "fill", marketId, data: fill, userId },
  ];
}
