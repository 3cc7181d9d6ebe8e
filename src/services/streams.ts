import { STREAM_MARKETS } from "../contract/constants.ts";
import { inOrderOf } from "../contract/encode.ts";
import { type StreamEvents, streamEvents } from "../contract/resources/stream.ts";
import type { ChainPoint } from "../domain/audit/audit-link.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import type { ProposalStep } from "../domain/audit/market-shapes.ts";
import { pricesOf, statusAt } from "../domain/market/market.ts";
import { outcomeShown } from "../domain/market/outcome.ts";
import { roundPrice } from "../domain/money.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { readAuditHead } from "../queries/audit.ts";
import { type FollowedEntry, listLiveMarkets } from "../queries/stream.ts";
import { encodeAs } from "./answers.ts";
import { recordedFillView } from "./markets/fill-view.ts";

/** The start of a stream of events. */
export interface Beginning {
  /** The last audit entry that the snapshot includes: later entries are new events. */
  head: ChainPoint;
  snapshot: StreamEvents["snapshot"];
}

/**
 * The state before all later events, of these markets or of the open markets that close next. `sql` must read a
 * snapshot.
 */
export async function readBeginning(sql: ReadSql, ids: readonly string[] | undefined): Promise<Beginning> {
  const [head, rows] = await Promise.all([readAuditHead(sql), listLiveMarkets(sql, { ids, limit: STREAM_MARKETS })]);
  const markets = rows.map((row) => {
    const { yes, no } = pricesOf(row, row);
    const { id: marketId, closeAt, clarifications, proposalId } = row;
    const words = { clarifications, ...(proposalId !== "" && { proposalId }) };
    return { marketId, yesPrice: yes, noPrice: no, status: statusAt(row, row.now), closeAt, ...words };
  });
  const snapshot = encodeAs("streamEvents", streamEvents.snapshot, { markets }) as StreamEvents["snapshot"];
  return { head, snapshot };
}

/** An event of a market in wire form. */
export type LiveEvent = {
  [Name in keyof StreamEvents]: { name: Name; marketId: string; data: StreamEvents[Name]; userId?: string };
}["price" | "trade" | "market" | "clarification" | "proposal" | "fill"];

/** The market events of an audit entry; none for entries that concern only operators. */
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
    case "market.voided":
      return marketEvent(content.payload, { status: "settled", ts, outcome: "void" });
    case "market.settled":
    case "market.corrected":
      return marketEvent(content.payload, { status: "settled", ts, outcome: outcomeShown(content.payload.outcome) });
    case "market.clarified": {
      const { marketId, id, text } = content.payload;
      return [{ name: "clarification", marketId, data: { marketId, id, text, ts } }];
    }
    case "proposal.created":
    case "proposal.approved":
    case "proposal.objected":
      return proposalEvent(content.payload, { status: "pending", ts });
    case "proposal.rejected":
      return proposalEvent(content.payload, { status: "rejected", ts });
    case "proposal.executed":
      return proposalEvent(content.payload, { status: "executed", ts });
    default:
      return [];
  }
}

function marketEvent({ marketId }: { marketId: string }, state: Omit<StreamEvents["market"], "marketId">): LiveEvent[] {
  return [{ name: "market", marketId, data: { marketId, ...state } }];
}

/** None for a proposal that is not about a market. */
function proposalEvent(
  { marketId, proposalId, kind, outcome, finalAt }: ProposalStep,
  { status, ts }: Pick<StreamEvents["proposal"], "status" | "ts">,
): LiveEvent[] {
  if (marketId === undefined || outcome === undefined) return [];
  const data = { marketId, proposalId, kind, outcome: outcomeShown(outcome), status, finalAt, ts };
  return [{ name: "proposal", marketId, data }];
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
