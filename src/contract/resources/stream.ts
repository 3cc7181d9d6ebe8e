import { z } from "zod";
import { STREAM_MARKETS } from "../constants.ts";
import { type Operation, operationsUnder } from "../operation.ts";
import { MarketId, MarketStatus, Outcome, Price, Timestamp } from "../scalars.ts";
import { ProposalId, ProposalKind, ProposalState } from "./ends/proposals.ts";
import { Clarification } from "./markets.ts";
import { fillFields } from "./trading.ts";

const MarketFilter = z
  .string()
  .max(16_384)
  .transform((list) => list.split(","))
  .pipe(z.array(MarketId).min(1).max(STREAM_MARKETS));

export const StreamInput = z.object({
  markets: z
    .string()
    .max(16_384)
    .optional()
    .meta({ description: "Only these markets: ids separated by commas.", examples: ["mkt_1,mkt_2"] }),
});

/** The ids of the `markets` query; undefined when it is not a valid list of ids. */
export function parseMarketFilter(list: string): string[] | undefined {
  return MarketFilter.safeParse(list).data;
}

const { marketId, side, amount, fee, shares, yesPriceAfter, ts } = fillFields;
const status = MarketStatus.describe("The market's status at this time.");
const live = { marketId: MarketId, yesPrice: Price, noPrice: Price };

/** The data of each event, by its name. */
export const streamEvents = {
  snapshot: z
    .object({
      markets: z
        .array(
          z.object({
            ...{ ...live, status, closeAt: Timestamp },
            clarifications: z.number().int().describe("Extension: how many texts were added to its rules."),
            proposalId: ProposalId.optional().describe("Extension: the proposal about it that waits, if one does."),
          }),
        )
        .describe("The markets that the stream covers."),
    })
    .meta({ id: "SnapshotEvent", description: "The state before all following events; it replaces earlier state." }),
  price: z.object({ ...live, ts: Timestamp }).meta({ id: "PriceEvent", description: "A trade moved the price." }),
  trade: z
    .object({ marketId, side, amount, shares, yesPriceAfter, ts })
    .meta({ id: "TradeEvent", description: "A user traded; the event does not name the user." }),
  market: z
    .object({ marketId: MarketId, status, outcome: Outcome.optional(), ts: Timestamp })
    .meta({ id: "MarketEvent", description: "A market was created, suspended, resumed, closed or settled." }),
  clarification: z
    .object({ marketId: MarketId, id: Clarification.shape.id, text: Clarification.shape.text, ts })
    .meta({ id: "ClarificationEvent", description: "A text was added to a market's rules." }),
  proposal: z
    .object({
      marketId: MarketId,
      proposalId: ProposalId,
      kind: ProposalKind,
      outcome: Outcome,
      status: ProposalState,
      finalAt: Timestamp.describe("The earliest time of its execution."),
      ts,
    })
    .meta({
      id: "ProposalEvent",
      description: "An end or correction of a market was proposed, approved, objected to, rejected or executed.",
    }),
  fill: z
    .object({ tradeId: z.string().describe("The trade's id."), marketId, side, amount, fee, shares, yesPriceAfter, ts })
    .meta({ id: "FillEvent", description: "The authenticated user's own trade." }),
  resync: z
    .object({
      reason: z
        .enum(["slow", "credentials", "shutdown"])
        .describe("Why it ends: a slow reader, credentials that are no longer valid, or a server that stops."),
    })
    .meta({ id: "ResyncEvent", description: "The stream ends here: reconnect with the last event id." }),
} as const;

export type StreamEvents = { [Name in keyof typeof streamEvents]: z.input<(typeof streamEvents)[Name]> };

/** One event of `GET /v1/stream`, as it travels. */
export type StreamEvent = {
  [Name in keyof StreamEvents]: { event: Name; data: StreamEvents[Name] };
}[keyof StreamEvents];

/**
 * Not in the table of operations, because only the HTTP server has it and it sends more than one answer. A user token
 * or the session cookie is optional and adds `fill` events.
 */
export const streamOperation: Operation = operationsUnder("markets").operation({
  method: "GET",
  path: "/v1/stream",
  auth: "public",
  summary: "Stream prices, trades and market states as they happen.",
  input: StreamInput,
  output: z.string(),
  refusals: ["OVERLOADED"],
  extension: true,
});
