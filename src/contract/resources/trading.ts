import { z } from "zod";
import { QUOTE_LIFE_MS } from "../../domain/market/held-quote.ts";
import { NoInput, operationsUnder } from "../operation.ts";
import {
  line,
  MarketId,
  Price,
  paging,
  ShareAmount,
  Shares,
  Side,
  Timestamp,
  text,
  Usd,
  UsdAmount,
} from "../scalars.ts";
import { AveragePrice, StoredHedgeRef, StoredQuestion } from "../stored.ts";

export const HedgeRef = z
  .object({
    symbol: line(32).toUpperCase(),
    direction: z.enum(["long", "short"]),
    notional: z.number().int().positive().max(Number.MAX_SAFE_INTEGER).meta({ description: "Minor units (cents)." }),
    externalRef: line(255),
  })
  .meta({ id: "HedgeRef", description: "Marks a trade as the hedge of an external leveraged position." });

const Action = z.enum(["buy", "sell"]).meta({ description: "Extension: buy or sell shares; `buy` unless given." });
const Bound = z.number().gt(0).max(1);

/** The size and the caller's own price bounds. A purchase states dollars, a sale shares. */
const terms = {
  amount: UsdAmount.optional().meta({ description: "The dollars to spend, fee included. Required to buy." }),
  shares: ShareAmount.optional().meta({ description: "Extension: the number of shares to sell. Required to sell." }),
  maxAvgPrice: Bound.optional().meta({ description: "Extension: refuse a purchase at a higher average price." }),
  minShares: ShareAmount.optional().meta({ description: "Extension: refuse a purchase of fewer shares." }),
  minAvgPrice: Bound.optional().meta({ description: "Extension: refuse a sale at a lower average price." }),
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
const SELLING = ["shares", "minAvgPrice"] as const;

/** Any text of this length: one that no server made is refused as a quote, not as a mistake of form. */
const QuoteText = text(2048).meta({ examples: ["WzE3OTg3NjE2MDAwMDAsMC41MTIxMDFd.z3Uo1bOe"] });

export const TradeInput = z
  .object({
    marketId: MarketId,
    selection: z.object({ side: Side, action: Action.optional() }),
    ...terms,
    hedgeRef,
    quote: QuoteText.optional().meta({
      description:
        "Extension: a held quote, beside the `marketId`, `selection` and `amount` or `shares` that it was made for. The trade executes exactly as quoted, or is refused.",
    }),
  })
  .check(checkTerms)
  .meta({ id: "TradeInput", examples: [{ ...EXAMPLE, selection: { side: "yes" } }] });

export const QuoteInput = z
  .object({
    marketId: MarketId,
    selection: z.object({ side: Side, action: Action.optional() }),
    ...terms,
    hold: z
      .boolean()
      .default(false)
      .meta({
        description: `Also answers a \`quote\` that \`POST /v1/trade\` takes for ${QUOTE_LIFE_MS / 1000} seconds. Needs a user token.`,
      }),
  })
  .check(checkTerms)
  .meta({ id: "QuoteInput", examples: [{ ...EXAMPLE, selection: { side: "yes" } }] });

const Sold = z.literal("sell").optional().meta({ description: "Extension: present on sales only." });

/** The public fields of a fill, in answers, webhooks and streams alike. */
export const fillFields = {
  marketId: MarketId,
  side: Side,
  action: Sold,
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
    priceImpact: Price.meta({ description: "How far the trade moves the price: |yesPriceAfter - yesPriceBefore|." }),
    quote: QuoteText.optional().meta({
      description:
        "With `hold`: the `quote` of a trade on these terms by this user. It is used once; it is signed, not encrypted, and nothing is reserved for it.",
    }),
    expiresAt: Timestamp.optional().meta({ description: "With `hold`: the last instant at which it executes." }),
  })
  .meta({ id: "Quote" });

export const TradeResult = z
  .object({
    tradeId: z.string(),
    ...fillFields,
    position: z
      .object({ shares: Shares, avgCost: AveragePrice })
      .meta({ description: "Extension: the position after the trade." }),
    realizedPnl: Usd.optional().meta({
      description: "Extension: of a sale, its net proceeds less what its shares had cost.",
    }),
    hedgeRef: StoredHedgeRef.optional(),
  })
  .meta({ id: "TradeResult" });

export const NumericOutcome = z.union([z.literal(0), z.literal(1)]).meta({ description: "1 = yes, 0 = no." });

export const OrderInput = z
  .object({
    marketId: MarketId,
    selection: z.object({ outcome: NumericOutcome, action: Action.optional() }),
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
    question: StoredQuestion,
    hedgeRef: StoredHedgeRef.optional(),
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
const CapMinor = z
  .number()
  .int()
  .min(0)
  .meta({ description: "The highest exposure in cents; 9007199254740991 means no cap." });

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

const { operation } = operationsUnder("trading");

/** The refusals of a trade in the order of its checks: the market's state, the user's standing, limits, then funds. */
const MARKET_STATE = ["MARKET_NOT_FOUND", "MARKET_SETTLED", "MARKET_CLOSED", "MARKET_SUSPENDED"] as const;
const STANDING = ["KYC_REQUIRED", "ACCOUNT_RESTRICTED", "JURISDICTION_BLOCKED", "SUITABILITY_REQUIRED"] as const;
const LIMITS = ["MAX_TRADE_EXCEEDED", "EXPOSURE_EXCEEDED"] as const;
const FUNDS = ["INSUFFICIENT_FUNDS", "AMOUNT_TOO_SMALL", "PRICE_BOUND", "COST_EXCEEDS_PAYOUT"] as const;
/** A sale needs shares instead of funds; purchases and sales alike may bound their price. */
const PRICED = [...LIMITS, ...FUNDS, "INSUFFICIENT_SHARES"] as const;
const TRADE = [...MARKET_STATE, ...STANDING, ...PRICED, "SLIPPAGE"] as const;
const QUOTE = ["QUOTE_INVALID", "QUOTE_EXPIRED"] as const;
/** With a held quote, what the price alone refuses has one reason: it moved. */
const HELD = [...MARKET_STATE, ...STANDING, ...QUOTE, ...PRICED, "QUOTE_MOVED", "SLIPPAGE"] as const;

export const tradingOperations = {
  placeTrade: operation({
    method: "POST",
    path: "/v1/trade",
    auth: "user",
    summary: "Buy shares of one side, or sell them.",
    input: TradeInput,
    output: TradeResult,
    refusals: HELD,
    writes: true,
    trades: true,
  }),
  placeOrder: operation({
    method: "POST",
    path: "/v1/orders",
    auth: "user",
    summary: "Place the same trade as an order with a numeric outcome, optionally as a hedge.",
    input: OrderInput,
    output: OrderResult,
    refusals: TRADE,
    writes: true,
    trades: true,
  }),
  listOrders: operation({
    method: "GET",
    path: "/v1/orders",
    auth: "user",
    summary: "List the user's own orders, newest first.",
    input: OrderFilter,
    output: z.array(OrderItem),
    refusals: [],
    paged: true,
    extension: true,
  }),
  getOrder: operation({
    method: "GET",
    path: "/v1/orders/:id",
    auth: "user",
    summary: "Get one of the user's own orders.",
    input: z.object({ id: text(64) }),
    output: OrderItem,
    refusals: [],
    extension: true,
  }),
  quoteTrade: operation({
    method: "POST",
    path: "/v1/quote",
    auth: "public",
    optionalUser: true,
    summary:
      "Compute the result of a trade without executing it; a user token adds the checks of that user, and `hold` a quote to trade by.",
    input: QuoteInput,
    output: Quote,
    refusals: TRADE,
    extension: true,
  }),
  submitSuitability: operation({
    method: "POST",
    path: "/v1/suitability",
    auth: "user",
    onBehalf: "users",
    summary: "Submit the answers of a suitability assessment.",
    input: SuitabilityInput,
    output: SuitabilityResult,
    refusals: [],
    writes: true,
  }),
  getSuitability: operation({
    method: "GET",
    path: "/v1/suitability",
    auth: "user",
    summary: "Get the user's suitability score and exposure cap.",
    input: NoInput,
    output: SuitabilityStatus,
    refusals: [],
  }),
};
