import { z } from "zod";
import { NoInput, operation } from "./operation.ts";
import { MarketId, Price, Shares, Side, Timestamp, text, Usd, UsdAmount } from "./scalars.ts";

export const HedgeRef = z
  .object({
    symbol: text(32).toUpperCase(),
    direction: z.enum(["long", "short"]),
    notional: z.number().int().positive().max(Number.MAX_SAFE_INTEGER).meta({ description: "Minor units (cents)." }),
    externalRef: text(255),
  })
  .meta({ id: "HedgeRef", description: "Tags a trade as the hedge of an external leveraged position." });

export const TradeInput = z
  .object({ marketId: MarketId, selection: z.object({ side: Side }), amount: UsdAmount })
  .meta({ id: "TradeInput" });

const Position = {
  marketId: MarketId,
  side: Side,
  shares: Shares,
  avgCost: Price,
};

export const TradeResult = z
  .object({
    tradeId: z.string(),
    marketId: MarketId,
    side: Side,
    amount: Usd,
    shares: Shares,
    avgPrice: Price,
    ts: Timestamp,
    fee: Usd,
    yesPriceAfter: Price,
    position: z
      .object({ shares: Shares, avgCost: Price })
      .meta({ description: "Extension: the position after the trade." }),
  })
  .meta({ id: "TradeResult" });

const NumericOutcome = z.union([z.literal(0), z.literal(1)]).meta({ description: "1 = yes, 0 = no." });

export const OrderInput = z
  .object({
    marketId: MarketId,
    selection: z.object({ outcome: NumericOutcome }),
    amount: UsdAmount,
    hedgeRef: HedgeRef.optional(),
  })
  .meta({ id: "OrderInput" });

export const OrderResult = TradeResult.extend({
  orderId: z.string(),
  status: z.literal("filled"),
  outcome: NumericOutcome,
  hedgeRef: HedgeRef.optional(),
}).meta({ id: "OrderResult" });

export const PositionItem = z
  .object({ ...Position, question: text(500), currentPrice: Price, unrealizedPnl: Usd })
  .meta({ id: "Position" });

export const SuitabilityInput = z
  .object({
    answers: z
      .record(text(64), z.number().int().min(0).max(4))
      .refine(
        (answers) => Object.keys(answers).length >= 1 && Object.keys(answers).length <= 5,
        "must hold 1 to 5 answers",
      ),
  })
  .meta({ id: "SuitabilityInput" });

const Score = z.number().int().min(0).max(20);
const CapMinor = z.number().int().min(0).meta({ description: "Cents; 9007199254740991 means no cap." });

export const SuitabilityResult = z
  .object({ score: Score, exposureCapMinor: CapMinor, passed: z.boolean() })
  .meta({ id: "SuitabilityResult" });

export const SuitabilityStatus = z
  .object({
    completed: z.boolean(),
    score: Score.optional(),
    exposureCapMinor: CapMinor.optional(),
    updatedAt: Timestamp.optional(),
  })
  .meta({ id: "SuitabilityStatus" });

export const tradingOperations = {
  placeTrade: operation({
    method: "POST",
    path: "/v1/trade",
    auth: "user",
    summary: "Buy shares of one side.",
    input: TradeInput,
    output: TradeResult,
    writes: true,
  }),
  placeOrder: operation({
    method: "POST",
    path: "/v1/orders",
    auth: "user",
    summary: "The same trade by numeric outcome, optionally tagged as a hedge.",
    input: OrderInput,
    output: OrderResult,
    writes: true,
  }),
  listPositions: operation({
    method: "GET",
    path: "/v1/positions",
    auth: "user",
    summary: "The user's open positions.",
    input: NoInput,
    output: z.array(PositionItem),
  }),
  submitSuitability: operation({
    method: "POST",
    path: "/v1/suitability",
    auth: "user",
    summary: "Submit a suitability assessment.",
    input: SuitabilityInput,
    output: SuitabilityResult,
    writes: true,
  }),
  getSuitability: operation({
    method: "GET",
    path: "/v1/suitability",
    auth: "user",
    summary: "The user's suitability.",
    input: NoInput,
    output: SuitabilityStatus,
  }),
};
