import { inOrderOf } from "../../contract/encode.ts";
import { type StreamEvents, streamEvents } from "../../contract/resources/stream.ts";
import type { AuditPayloads } from "../../domain/audit/audit-payloads.ts";
import { roundPrice } from "../../domain/money.ts";
import type { FollowedEntry } from "../../queries/stream.ts";
import { madeOf } from "../answers.ts";
import { recordedFillView } from "../markets/fill-view.ts";

/** An event of a market in wire form. */
export type LiveEvent = {
  [Name in keyof StreamEvents]: { name: Name; marketId: string; data: StreamEvents[Name]; userId?: string };
}["price" | "trade" | "market" | "fill"];

/**
 * The events that an audit entry causes for those who watch markets; none for entries of the operator's own doing, nor
 * for a trade whose amounts cannot be read, so that one row that was tampered with ends no stream.
 */
export function liveEventsOf({ content, ts }: FollowedEntry): LiveEvent[] {
  switch (content?.type) {
    case "trade.executed":
      return madeOf("streamEvents", () => tradeEvents(content.payload, ts)) ?? [];
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
  const { tradeId, userId } = payload;
  const fill = recordedFillView(payload, ts);
  const { marketId, yesPriceAfter } = fill;
  return [
    {
      name: "price",
      marketId,
      data: { marketId, yesPrice: yesPriceAfter, noPrice: roundPrice(1 - yesPriceAfter), ts },
    },
    { name: "trade", marketId, data: inOrderOf(streamEvents.trade, fill) },
    { name: "fill", marketId, data: inOrderOf(streamEvents.fill, { tradeId, ...fill }), userId },
  ];
}
