import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import {
  AveragePrice,
  line,
  MarketId,
  Price,
  paging,
  Question,
  ShareAmount,
  Shares,
  Side,
  Timestamp,
  text,
  Usd,
  UsdAmount,
} from "../scalars.ts";

export const HedgeRef = z
  .object({
    symbol: line(32).toUpperCase().describe("The instrument of the external position, in upper case."),
    direction: z.enum(["long", "short"]).describe("The direction of the external position."),
    notional: z.number().int().positive().max(Number.MAX_SAFE_INTEGER).describe("Minor units (cents)."),
    externalRef: line(255).describe("Your own reference of the external position."),
  })
  .meta({ id: "HedgeRef", description: "Marks a trade as the hedge of an external leveraged position." });

const Action = z.enum(["buy", "sell"]).default("buy").describe("Extension: buy or sell shares.");
const Bound = z.number().gt(0).max(1);

/** The size and the caller's own price bounds. A purchase states dollars, a sale shares. */
const terms = {
  amount: UsdAmount.optional().describe("The dollars to spend, fee included. Required to buy."),
  shares: ShareAmount.optional().describe("Extension: the number of shares to sell. Required to sell."),
  maxAvgPrice: Bound.optional().describe("Extension: refuse a purchase at a higher average price."),
  minShares: ShareAmount.optional().describe("Extension: refuse a purchase of fewer shares."),
  minAvgPrice: Bound.optional().describe("Extension: refuse a sale at a lower average price."),
  minProceeds: UsdAmount.optional().describe("Extension: refuse a sale that pays fewer dollars, after the fee."),
};
const hedgeRef = HedgeRef.optional();
const EXAMPLE = { marketId: "mkt_019f2c3a7b", amount: 25 };

type Terms = { selection: { action?: "buy" | "sell" | undefined } } & { [Field in keyof typeof terms]?: unknown } & {
  hedgeRef?: unknown;
};

/** Refuses fields of the other action: the caller relies on a bound, so it must not be ignored. */
function checkTerms({ value, issues }: z.core.ParsePayload<Terms>): void {
  const selling = value.selection.action === "sell";
  const refuse = (field: string, message: string) =>
    issues.push({ code: "custom", input: undefined, path: [field], message });
  if (value[selling ? "shares" : "amount"] === undefined) refuse(selling ? "shares" : "amount", "is required");
  for (const field of selling ? BUYING : SELLING)
    if (value[field] !== undefined) refuse(field, `does not go with a ${selling ? "sale" : "purchase"}`);
}
const BUYING = ["amount", "maxAvgPrice", "minShares", "hedgeRef"] as const;
const SELLING = ["shares", "minAvgPrice", "minProceeds"] as const;

export const NumericOutcome = z.union([z.literal(0), z.literal(1)]).describe("1 = yes, 0 = no.");

type StatedSide = { side?: string | undefined; outcome?: 0 | 1 | undefined };
/** A caller that states the side twice, with two values, may mean either. */
function checkOutcome({ value: { side, outcome }, issues }: z.core.ParsePayload<StatedSide>) {
  if (side !== undefined && outcome !== undefined && (side === "yes") !== (outcome === 1))
    issues.push({ code: "custom", input: side, path: ["side"], message: `is ${side}, but outcome is ${outcome}` });
}

const SideSelection = z
  .object({
    side: Side,
    outcome: NumericOutcome.optional().describe("Extension: the side as a number; it must match the side."),
    action: Action,
  })
  .check(checkOutcome);

const quoted = { marketId: MarketId, selection: SideSelection, ...terms };

export const TradeInput = z
  .object({ ...quoted, hedgeRef })
  .check(checkTerms)
  .meta({ id: "TradeInput", examples: [{ ...EXAMPLE, selection: { side: "yes" } }] });

export const QuoteInput = z
  .object(quoted)
  .check(checkTerms)
  .meta({ id: "QuoteInput", examples: [{ ...EXAMPLE, selection: { side: "yes" } }] });

const Done = z.enum(["buy", "sell"]).describe("Extension: whether shares were bought or sold.");

/** The public fields of a fill, in answers, webhooks and streams alike. */
export const fillFields = {
  marketId: MarketId,
  side: Side,
  action: Done,
  amount: Usd,
  shares: Shares,
  avgPrice: AveragePrice,
  ts: Timestamp,
  fee: Usd,
  yesPriceAfter: Price,
};

/** The result that a trade would have. */
export const Quote = z
  .object({
    ...fillFields,
    yesPriceBefore: Price,
    priceImpact: Price.describe("How far the trade moves the price: |yesPriceAfter - yesPriceBefore|."),
  })
  .meta({ id: "Quote" });

export const TradeResult = z
  .object({
    tradeId: z.string(),
    ...fillFields,
    position: z.object({ shares: Shares, avgCost: AveragePrice }).describe("Extension: the position after the trade."),
    realizedPnl: Usd.optional().describe("Extension: for a sale, its net proceeds minus the cost of its shares."),
    hedgeRef: HedgeRef.optional(),
  })
  .meta({ id: "TradeResult" });

export const OrderInput = z
  .object({
    marketId: MarketId,
    selection: z
      .object({
        outcome: NumericOutcome,
        side: Side.optional().describe("Extension: the outcome as a word; it must equal `outcome`."),
        action: Action,
      })
      .check(checkOutcome),
    ...terms,
    hedgeRef,
  })
  .check(checkTerms)
  .meta({
    id: "OrderInput",
    examples: [
      {
        ...EXAMPLE,
        selection: { outcome: 1 },
        hedgeRef: { symbol: "BTCUSD", direction: "long", notional: 100_000, externalRef: "pos-7" },
      },
    ],
  });

const Filled = { orderId: z.string(), status: z.literal("filled"), outcome: NumericOutcome };

export const OrderResult = TradeResult.extend(Filled).meta({ id: "OrderResult" });

/** One of the user's own fills. */
export const OrderItem = z
  .object({
    ...Filled,
    tradeId: z.string(),
    ...fillFields,
    question: Question,
    hedgeRef: HedgeRef.optional(),
  })
  .meta({ id: "Order" });

export const OrderFilter = z.object({
  ...paging,
  marketId: MarketId.optional(),
});

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
const CapMinor = z.number().int().min(0).describe("The highest exposure in cents; 9007199254740991 means no cap.");

const submitted = { score: Score, exposureCapMinor: CapMinor, passed: z.boolean() };
export const SuitabilityResult = z.object(submitted).meta({ id: "SuitabilityResult" });

export const SuitabilityStatus = z
  .object({
    completed: z.boolean(),
    score: Score.optional(),
    exposureCapMinor: CapMinor.optional(),
    updatedAt: Timestamp.optional(),
  })
  .meta({ id: "SuitabilityStatus" });

const { operation, userRead, userChange } = operationsUnder("trading");

/** The errors of a trade in the order of its checks: the market's state, the user's status, limits, then funds. */
const MARKET_STATE = ["MARKET_NOT_FOUND", "MARKET_SETTLED", "MARKET_CLOSED", "MARKET_SUSPENDED"] as const;
const STANDING = [
  "KYC_REQUIRED",
  "ACCOUNT_RESTRICTED",
  "JURISDICTION_UNKNOWN",
  "JURISDICTION_BLOCKED",
  "SUITABILITY_REQUIRED",
] as const;
const LIMITS = ["MAX_TRADE_EXCEEDED", "EXPOSURE_EXCEEDED"] as const;
const FUNDS = ["INSUFFICIENT_FUNDS", "AMOUNT_TOO_SMALL", "PRICE_BOUND", "COST_EXCEEDS_PAYOUT"] as const;
/** A sale needs shares instead of funds. Both purchases and sales may bound their price. */
const PRICED = [...LIMITS, ...FUNDS, "INSUFFICIENT_SHARES"] as const;
const TRADE = [...MARKET_STATE, ...STANDING, ...PRICED, "SLIPPAGE"] as const;

export const tradingOperations = {
  placeTrade: userChange({
    path: "/v1/trade",
    summary: "Buy shares of one side, or sell them.",
    input: TradeInput,
    output: TradeResult,
    refusals: TRADE,
    trades: true,
    bounded: true,
  }),
  placeOrder: userChange({
    path: "/v1/orders",
    summary: "Place the same trade as an order with a numeric outcome, optionally as a hedge.",
    input: OrderInput,
    output: OrderResult,
    refusals: TRADE,
    trades: true,
    bounded: true,
  }),
  listOrders: userRead({
    path: "/v1/orders",
    summary: "List the user's own orders, newest first.",
    input: OrderFilter,
    output: z.array(OrderItem),
    paged: true,
    extension: true,
  }),
  getOrder: userRead({
    path: "/v1/orders/:id",
    summary: "Get one of the user's own orders.",
    input: z.object({ id: text(64) }),
    output: OrderItem,
    extension: true,
  }),
  quoteTrade: operation({
    method: "POST",
    path: "/v1/quote",
    auth: "public",
    optionalUser: true,
    summary:
      "Compute the result of a trade without executing it; a user token adds the checks of that user. A trade with these figures as bounds gives them or better, or fails.",
    input: QuoteInput,
    output: Quote,
    refusals: TRADE,
    bounded: true,
    extension: true,
  }),
  submitSuitability: userChange({
    path: "/v1/suitability",
    onBehalf: "users",
    summary: "Submit the answers of a suitability assessment.",
    input: SuitabilityInput,
    output: SuitabilityResult,
    refusals: [],
  }),
  getSuitability: userRead({
    path: "/v1/suitability",
    summary: "Get the user's suitability score and exposure cap.",
    output: SuitabilityStatus,
  }),
};
