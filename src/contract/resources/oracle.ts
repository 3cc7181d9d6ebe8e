import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { MarketId, PageLimit, Question, ResolutionRef, Timestamp, text } from "../scalars.ts";

export const HeldMarket = z
  .object({
    marketId: MarketId,
    question: Question,
    resolutionRef: ResolutionRef,
    reason: z.string().meta({ description: "Why it is held, as a stable code.", examples: ["stale"] }),
    detail: z.string(),
    heldAt: Timestamp,
  })
  .meta({ id: "HeldMarket" });

export const OracleSweep = z
  .object({
    watched: z.number().int().min(0).describe("Markets that were due, or near the instant that decides them."),
    asked: z.number().int().min(0).describe("Requests sent to sources of prices, or to `resolution_url`."),
    settled: z.array(MarketId),
    held: z
      .array(z.object({ marketId: MarketId, reason: z.string() }))
      .describe("Markets that are due and not settled, with their reasons."),
  })
  .meta({ id: "OracleSweep" });

export const FeedLine = z
  .object({
    feed: z.string().meta({ description: "Venue and instrument.", examples: ["pm:btc"] }),
    own: z.boolean().describe("Whether the tenant file states it; the others are built in."),
    sources: z.array(z.string()).describe("The sources with their names of the instrument, best first."),
    lacking: z.array(z.string()).describe("Unusable sources, and what the tenant file must state for them."),
    quorum: z.number().int().describe("Number of sources that must answer."),
    maxAgeSec: z.number().describe("How old a price may be."),
  })
  .meta({ id: "FeedLine" });

const SourceSamples = z
  .object({
    source: z.string().meta({ description: "The source's name.", examples: ["coinbase"] }),
    symbol: z.string().meta({ description: "Its name of the instrument.", examples: ["BTC-USD"] }),
    apart: z
      .string()
      .nullable()
      .describe(
        "How far its newest price lies above (or with a minus, below) the middle of the sources' newest prices, as decimal text; null without a price.",
      ),
    confirmedAt: Timestamp.nullable().describe("When it last showed its newest price; null without one."),
    samples: z
      .array(
        z.object({
          observedAt: Timestamp.describe("The price's own time."),
          receivedAt: Timestamp.describe("When a server received it."),
          price: z.string().describe("Decimal text."),
        }),
      )
      .describe("Its newest prices, by time."),
  })
  .meta({ id: "SourceSamples" });
export const FeedSamples = z
  .object({ feed: z.string(), sources: z.array(SourceSamples).describe("The sources, best first.") })
  .meta({ id: "FeedSamples" });

export const FeedCheck = z
  .object({
    feed: z.string(),
    price: z.string().nullable().describe("Decimal text; null when a market would be held."),
    ageSec: z.number().nullable().describe("The age of the newest price in seconds."),
    spread: z.string().nullable().describe("The distance between the sources' prices, as decimal text."),
    session: z.enum(["open", "closed", "always"]),
    verdict: z.string().meta({ description: "`ok`, or why a market would be held now.", examples: ["ok"] }),
    detail: z.string(),
  })
  .meta({ id: "FeedCheck" });

const PriceText = z
  .union([z.string().regex(/^-?\d{1,20}(\.\d{1,20})?$/, "must be a plain decimal"), z.number()])
  .describe("The price. Send it as text to keep every digit.");

const { operation, operatorRead, signed } = operationsUnder("operations");

export const oracleOperations = {
  listHeldMarkets: operatorRead({
    path: "/v1/oracle/held",
    summary: "List up to 200 markets that the oracle left for a person to settle, with the reason.",
    input: z.object({ marketId: MarketId.optional().describe("List only this market.") }),
    output: z.array(HeldMarket),
    extension: true,
  }),
  listLatestPrices: operation({
    method: "POST",
    path: "/v1/oracle/prices",
    auth: "admin",
    scope: "config:read",
    summary: "Get the latest price of each feed from any of its sources. Changes nothing.",
    input: z.object({
      feeds: z
        .array(z.object({ key: text(128), sources: z.array(z.object({ use: text(64), id: text(256) })).max(50) }))
        .max(200),
    }),
    output: z
      .array(z.object({ key: z.string(), price: z.string().nullable() }))
      .describe("Prices as decimal text; null for a feed without a price."),
    refusals: [],
    extension: true,
  }),
  sweepOracle: operation({
    method: "POST",
    path: "/v1/oracle/sweep",
    auth: "admin",
    scope: "settle",
    summary: "Check every due market now, in addition to the server's regular sweeps.",
    output: OracleSweep,
    refusals: ["REFUSED"],
    extension: true,
  }),
  listFeeds: operatorRead({
    path: "/v1/oracle/feeds",
    summary: "List every feed with its sources, as this server process has them.",
    output: z.array(FeedLine),
    extension: true,
  }),
  listFeedSamples: operatorRead({
    path: "/v1/oracle/feeds/:feed/samples",
    summary:
      "List the newest prices that servers received for a feed, by source. They ask near the instants that decide markets; prices are kept for 30 days.",
    input: z.object({
      feed: text(128).meta({ description: "Venue and instrument.", examples: ["pm:btc"] }),
      limit: PageLimit.default(100).describe("The most prices of each source; the default is 100."),
    }),
    output: FeedSamples,
    extension: true,
  }),
  checkFeeds: operation({
    method: "POST",
    path: "/v1/oracle/check",
    auth: "admin",
    // Its requests count against the sources' limits, which settlement needs.
    scope: "settle",
    summary:
      "Query the sources of feeds once, and report for each feed whether it could settle a market now. Stores nothing.",
    input: z.object({
      feeds: z.array(text(128)).max(200).default([]).describe("Only these; the default is all."),
    }),
    output: z.array(FeedCheck),
    refusals: ["REFUSED"],
    extension: true,
  }),
  receivePrice: signed({
    path: "/oracle/inbound/:tenantId",
    summary: "Send a price that the tenant itself observed, for a source of kind push.",
    input: z.object({
      tenantId: text(64),
      source: text(64).meta({ description: "The source's name in the tenant file.", examples: ["desk"] }),
      id: text(256).meta({ description: "The instrument's id at the source.", examples: ["steel"] }),
      price: PriceText,
      observedAt: Timestamp,
    }),
    output: z.object({ received: z.literal(true) }),
    refusals: [],
    extension: true,
  }),
};
