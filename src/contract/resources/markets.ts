import { z } from "zod";
import { MOST_CLARIFICATIONS } from "../../domain/market/clarification.ts";
import { WAITING_FOR } from "../../domain/market/status-filter.ts";
import { MAX_PRICE, MIN_PRICE } from "../../domain/money.ts";
import { PLAIN_LINE, PLAIN_TEXT } from "../../domain/text.ts";
import { operationsUnder } from "../operation.ts";
import {
  CategorySlug,
  MarketId,
  MarketKey,
  MarketKind,
  MarketStatus,
  Outcome,
  Price,
  paging,
  paragraphs,
  Question,
  ResolutionRef,
  Shares,
  StatusWords,
  Timestamp,
  text,
  Usd,
  UsdAmount,
} from "../scalars.ts";

const META_BYTES = 8 * 1024;

/** Why metadata is refused; undefined when it is valid. */
function metaProblem(meta: Record<string, unknown>): string | undefined {
  if (Buffer.byteLength(JSON.stringify(meta)) > META_BYTES) return `must be at most ${META_BYTES} bytes of JSON`;
  if (!isExact(meta))
    return "must hold whole numbers of at most 9007199254740991 and no -0; write other numbers as texts";
  return isPlain(meta)
    ? undefined
    : "must be well-formed text without control characters (but newlines and tabs in values) or marks of direction";
}

/** JSON parsing rounds larger whole numbers, and -0 is stored as 0: traders would not read what the operator wrote. */
function isExact(value: unknown): boolean {
  if (Object.is(value, -0)) return false;
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isExact);
}

function isPlain(value: unknown): boolean {
  if (typeof value === "string") return PLAIN_TEXT.test(value);
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isPlain);
  return Object.entries(value).every(([key, item]) => PLAIN_LINE.test(key) && isPlain(item));
}

/** Arbitrary key-value data. Its size is measured in stored bytes, and its values are checked at every depth. */
export const Meta = z
  .record(z.string(), z.json())
  .check((context) => {
    const message = metaProblem(context.value);
    if (message) context.issues.push({ code: "custom", input: context.value, message });
  })
  .meta({ id: "Meta", description: "Arbitrary key-value metadata, at most 8 KiB." });

/** A market's own rules for its end, besides those of the tenant and its category. */
export const EndTerms = z
  .strictObject({
    holdHours: z
      .number()
      .min(0)
      .max(8760)
      .optional()
      .describe("Hours between a proposal to end the market and its execution."),
    approvals: z
      .number()
      .int()
      .min(1)
      .max(20)
      .optional()
      .describe("Actors that must agree to its end, the proposer among them."),
  })
  .meta({ id: "EndTerms", description: "Extension: stricter rules for the market's end." });

export const MarketInput = z
  .object({
    question: Question,
    category: CategorySlug,
    kind: MarketKind,
    p0: z
      .number()
      .min(MIN_PRICE)
      .max(MAX_PRICE)
      .meta({ description: "Initial YES probability.", examples: [0.5] }),
    closeAt: Timestamp,
    resolutionRef: ResolutionRef,
    meta: Meta.default({}),
    liquidityUsd: UsdAmount.optional().describe(
      "Extension: the liquidity from the house; the default is the tenant's.",
    ),
    resolution: EndTerms.optional(),
    key: MarketKey.optional().meta({
      description:
        "Extension: a unique name of the market. If a market with this key exists, the response is that market if its terms are equal, else an error.",
      examples: ["rain-bern"],
    }),
  })
  .meta({ id: "MarketInput" });

const StoredKey = z
  .string()
  .nullable()
  .describe("Extension: the market's key in the tenant's files; null for a market without one.");

export const MarketCreated = z
  .object({ id: MarketId, status: MarketStatus, yesPrice: Price, createdAt: Timestamp })
  .meta({ id: "MarketCreated" });

export const MarketItem = z
  .object({
    id: MarketId,
    question: Question,
    category: CategorySlug,
    kind: MarketKind,
    yesPrice: Price,
    volume24h: Usd,
    closeAt: Timestamp,
    status: MarketStatus.optional().describe("Extension: only with the query field `status`, as are the next four."),
    outcome: Outcome.nullable().optional(),
    resolutionRef: ResolutionRef.optional(),
    key: StoredKey.optional(),
    waitingFor: z
      .enum(WAITING_FOR)
      .optional()
      .describe(
        "With `waiting`, what the market needs: a manual settlement, or a person's decision about what stopped the oracle.",
      ),
  })
  .meta({ id: "MarketItem" });

const clarification = {
  id: z.string().meta({ description: "The clarification's id.", examples: ["clr_019f2c3a7b"] }),
  text: paragraphs(1000).meta({
    description: "What the rules mean. Newlines and tabs are legal.",
    examples: ["The price of the last trade before closeAt counts."],
  }),
  at: Timestamp,
};

const MarketClarification = z
  .object(clarification)
  .meta({ id: "MarketClarification", description: "A text added to a market's rules; it never changes." });

export const ClarificationInput = z
  .object({ id: MarketId, text: clarification.text })
  .meta({ id: "ClarificationInput" });
export const Clarification = z
  .object({ id: clarification.id, marketId: MarketId, text: clarification.text, at: clarification.at })
  .meta({ id: "Clarification" });

export const Corrections = z
  .array(z.object({ from: Outcome, to: Outcome, at: Timestamp, reason: z.string() }))
  .describe("Extension: later changes of the outcome, oldest first.");

export const MarketDetail = z
  .object({
    id: MarketId,
    question: Question,
    category: CategorySlug,
    kind: MarketKind,
    status: MarketStatus,
    yesPrice: Price,
    noPrice: Price,
    volume: Usd,
    closeAt: Timestamp,
    resolutionRef: ResolutionRef,
    meta: Meta,
    createdAt: Timestamp,
    outcome: Outcome.nullable().describe("Extension: the outcome as last decided; null until the market is settled."),
    settledAt: Timestamp.nullable().describe("Extension: when the market was first settled."),
    reason: z.string().nullable().describe("Extension: why the market was voided, or last corrected; else null."),
    corrections: Corrections,
    key: StoredKey,
    clarifications: z
      .array(MarketClarification)
      .max(MOST_CLARIFICATIONS)
      .describe("Extension: texts that operators added to the market's rules, oldest first."),
  })
  .meta({ id: "MarketDetail" });

export const MarketStatusChange = z.object({ id: MarketId, status: MarketStatus }).meta({ id: "MarketStatusChange" });

/** The cost of a search grows with its words, and every visitor may search. */
const MOST_WORDS = 16;

export const MarketFilter = z.object({
  category: CategorySlug.optional(),
  kind: MarketKind.optional(),
  q: text(200, 0)
    .refine((words) => words.trim().split(/\s+/).length <= MOST_WORDS, `must be at most ${MOST_WORDS} words`)
    .optional()
    .describe(
      `Full-text search over question and description, of at most ${MOST_WORDS} words. A word that occurs in more than 5,000 markets is searched only in the 10,000 open markets that close next.`,
    ),
  status: StatusWords.optional(),
  ...paging,
});

export const MarketRef = z.object({ id: MarketId });

export const HistoryPoint = z.object({ t: Timestamp, yes: Price, no: Price }).meta({ id: "HistoryPoint" });
const DepthLevel = z.object({ price: Price, size: Shares }).meta({ id: "DepthLevel" });
export const Depth = z.object({ yes: z.array(DepthLevel), no: z.array(DepthLevel) }).meta({ id: "Depth" });
export const TrendingItem = z
  .object({ id: MarketId, question: Question, yesPrice: Price, volume24h: Usd })
  .meta({ id: "TrendingItem" });

export const RecentPrices = z
  .object({
    id: MarketId,
    yes: z.array(Price).describe("YES prices of the last 24 hours, oldest first, the current price last."),
  })
  .meta({ id: "RecentPrices" });

const { publicRead, operatorChange } = operationsUnder("markets");

export const marketOperations = {
  listMarkets: publicRead({
    path: "/v1/markets",
    summary: "List the open markets, for operators also those with other statuses, by closing time.",
    input: MarketFilter,
    output: z.array(MarketItem),
    refusals: ["FORBIDDEN", "SCOPE_REQUIRED"],
    paged: true,
  }),
  listTrendingMarkets: publicRead({
    path: "/v1/markets/trending",
    summary: "List the 20 open markets with the largest volume of the last 24 hours.",
    output: z.array(TrendingItem),
  }),
  listRecentPrices: publicRead({
    path: "/v1/markets/recent",
    summary: "Get the hourly YES prices of the last 24 hours of several markets.",
    input: z.object({
      ids: text(8192).meta({
        description: "At most 200 market ids, separated by commas.",
        examples: ["mkt_1,mkt_2"],
      }),
    }),
    output: z.array(RecentPrices),
    extension: true,
  }),
  getMarket: publicRead({
    path: "/v1/markets/:id",
    summary: "Get one market.",
    input: MarketRef,
    output: MarketDetail,
    refusals: ["MARKET_NOT_FOUND"],
  }),
  getMarketHistory: publicRead({
    path: "/v1/markets/:id/history",
    summary: "Get the hourly prices of a market since it was created.",
    input: MarketRef,
    output: z.array(HistoryPoint),
    refusals: ["MARKET_NOT_FOUND"],
  }),
  getMarketDepth: publicRead({
    path: "/v1/markets/:id/depth",
    summary: "Get the number of shares on offer at each price.",
    input: MarketRef,
    output: Depth,
    refusals: ["MARKET_NOT_FOUND"],
  }),
  createMarket: operatorChange("markets", {
    path: "/v1/markets",
    summary: "Create a market, open for trading.",
    input: MarketInput,
    output: MarketCreated,
    refusals: ["MARKET_KEY_TAKEN", "TREASURY_INSUFFICIENT"],
  }),
  suspendMarket: operatorChange("markets", {
    path: "/v1/markets/:id/suspend",
    summary: "Halt trading in a market; positions are kept.",
    input: MarketRef,
    output: MarketStatusChange,
    refusals: ["MARKET_NOT_FOUND", "MARKET_SETTLED", "MARKET_CLOSED"],
  }),
  resumeMarket: operatorChange("markets", {
    path: "/v1/markets/:id/resume",
    summary: "Resume trading in a suspended market.",
    input: MarketRef,
    output: MarketStatusChange,
    refusals: ["MARKET_NOT_FOUND", "MARKET_SETTLED", "MARKET_CLOSED"],
  }),
  clarifyMarket: operatorChange("markets", {
    path: "/v1/markets/:id/clarifications",
    summary: "Add a text to a market's rules. It never changes; a later text can correct it.",
    input: ClarificationInput,
    output: Clarification,
    refusals: ["MARKET_NOT_FOUND", "MARKET_SETTLED", "LIMIT_REACHED"],
    extension: true,
  }),
};
