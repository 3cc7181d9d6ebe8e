import { z } from "zod";
import { COMPARATORS } from "../../domain/reference.ts";
import { operationsUnder } from "../operation.ts";
import {
  CategorySlug,
  MarketId,
  MarketStatus,
  Outcome,
  Question,
  queryInteger,
  StatusWords,
  Timestamp,
  Usd,
  UserId,
} from "../scalars.ts";

export const ReportPeriod = z.object({
  periodDays: queryInteger(z.number().int().min(1).max(3650))
    .default(30)
    .meta({ description: "Length of the period in UTC days, the current day included.", examples: [30] }),
});
const periodDays = z.number().int();
const count = z.number().int().min(0);

export const OverviewReport = z
  .object({ periodDays, totalVolume: Usd, houseRevenue: Usd, settledMarkets: count, activeTraders: count })
  .meta({ id: "OverviewReport" });

export const HouseReport = z
  .object({
    periodDays,
    totalFees: Usd,
    spreadIncome: Usd,
    refunds: z
      .object({
        markets: count,
        positions: count,
        paid: Usd.describe("What the positions got back in all."),
        fees: Usd.describe("The fees among it, which `totalFees` is less."),
        treasury: Usd.describe("What the treasury added."),
      })
      .describe("Markets voided within the period."),
    byCategory: z.array(z.object({ category: CategorySlug, revenue: Usd, volume: Usd, netMargin: z.number() })),
  })
  .meta({ id: "HouseReport" });

const daily = {
  volume: Usd,
  fees: Usd.describe("Less what voided markets gave back."),
  spreadIncome: Usd,
  houseRevenue: Usd,
  settledMarkets: count,
  activeTraders: count,
  exposure: Usd.describe(
    "The most that the house could lose at the end, whatever the outcomes: to the cent, from the last price of each market.",
  ),
};
export const DailyReport = z
  .object({
    periodDays,
    now: z.object(daily),
    before: z.object(daily).describe("The period of the same length before."),
    days: z
      .array(z.object({ day: Timestamp.describe("When the UTC day begins."), ...daily }))
      .describe("Every day of the period, oldest first."),
  })
  .meta({ id: "DailyReport" });

export const TradersReport = z
  .object({
    periodDays,
    traders: z.array(
      z.object({
        userId: UserId,
        volume: Usd,
        trades: count,
        markets: count,
        winRate: z
          .number()
          .min(0)
          .max(1)
          .nullable()
          .describe(
            "Share of the settled positions that won: their side is the outcome, or a fraction paid them more than their cost. Void ones do not count; null without one.",
          ),
        realizedPnl: Usd,
        unrealizedPnl: Usd,
        sellPnl: Usd.describe(
          "What selling each open position now would pay (the position's `sellValue`), less its cost.",
        ),
        totalPnl: Usd,
      }),
    ),
    totals: z.object({ traders: count, trades: count, volume: Usd, totalPnl: Usd }),
  })
  .meta({ id: "TradersReport" });

export const FundingReport = z
  .object({
    periodDays,
    inflows: Usd,
    outflows: Usd,
    pendingWithdrawals: Usd,
    owedUsd: Usd.describe("What all users owe: refunds and disputes that their wallets no longer covered."),
    netMovement: Usd,
    byProvider: z.array(z.object({ provider: z.string(), inflows: Usd, outflows: Usd })),
  })
  .meta({ id: "FundingReport" });

const SymbolTerms = z
  .object({
    feed: z.string().meta({ description: "Venue and instrument.", examples: ["pm:btc"] }),
    comparator: z.enum(COMPARATORS),
    strike: z.string().meta({ description: "As decimal text; the lower bound of `between`.", examples: ["100000"] }),
    upperStrike: z.string().nullable().describe("The upper bound of `between`, else null."),
    instant: Timestamp.describe("The price at this time decides."),
  })
  .meta({ id: "SymbolTerms" });

export const RiskItem = z
  .object({
    marketId: MarketId,
    question: Question,
    maxLiability: Usd,
    yesPayout: Usd,
    noPayout: Usd,
    status: MarketStatus.optional().describe("Extension: only with the query field `status`, as are the next five."),
    outcome: Outcome.nullable().optional(),
    category: CategorySlug.optional(),
    closeAt: Timestamp.optional(),
    stakes: Usd.optional().describe("What traders paid in without fees, less what they got for sales."),
    terms: SymbolTerms.nullable().optional().describe("By what the oracle settles it; null for a person's decision."),
  })
  .meta({ id: "RiskItem" });

export const RiskReport = z
  .object({
    markets: count.describe("Unsettled markets."),
    maxLiability: Usd.describe("The sum of the most that each of them can cost, settled as yes or no."),
    treasuryUsd: Usd.describe("The treasury's balance, which pays for it."),
    pricedMarkets: count.describe("Those of them that the oracle settles by a price."),
    byCategory: z
      .array(z.object({ category: CategorySlug, markets: count, maxLiability: Usd }))
      .describe("The hundred categories that can cost most."),
    items: z
      .array(RiskItem)
      .describe(
        "The `limit` markets that can cost most, and the `limit` priced ones that can, those that can cost most first.",
      ),
  })
  .meta({ id: "RiskReport" });

export const HedgeExposure = z
  .object({
    hedgeBook: z.array(
      z.object({
        symbol: z.string(),
        openTrades: count,
        longHedges: count,
        shortHedges: count,
        totalNotionalMinor: z.number().int().describe("Cents."),
        activeCostMinor: z
          .number()
          .int()
          .describe(
            "Cents: the cost of the tagged purchases, minus the part that each sale from their position released. Example: tagged $100, half sold, untagged $100 bought: 5000.",
          ),
      }),
    ),
    updatedAt: Timestamp,
  })
  .meta({ id: "HedgeExposure" });

export const OracleStatus = z
  .object({
    supportedFeeds: count,
    eligibleMarkets: count,
    lastSweepAt: Timestamp.nullable().describe("Null before the first sweep."),
    recentResolutions: z.array(
      z.object({
        sequence: z.number().int().describe("Extension: the audit entry with its evidence."),
        ts: Timestamp,
        marketId: MarketId,
        ref: z.string(),
        price: z.number(),
        strike: z.number().describe("The first entry of `strikes`."),
        strikes: z.array(z.number()).describe("One strike, or the lower and the upper bound of a `between` market."),
        outcome: z.union([z.literal(0), z.literal(1)]),
        question: Question,
      }),
    ),
  })
  .meta({ id: "OracleStatus" });

const { operatorRead } = operationsUnder("operations");

export const reportOperations = {
  getOracleStatus: operatorRead({
    path: "/v1/oracle/status",
    summary: "Get the state of the built-in oracle and its latest resolutions.",
    output: OracleStatus,
  }),
  getHedgeExposure: operatorRead({
    path: "/v1/hedge/exposure",
    summary: "Get the open hedges by symbol.",
    output: HedgeExposure,
  }),
  getOverviewReport: operatorRead({
    path: "/v1/reports/overview",
    summary: "Get volume, revenue and activity of a period.",
    input: ReportPeriod,
    output: OverviewReport,
  }),
  getHouseReport: operatorRead({
    path: "/v1/reports/house",
    summary: "Get the fees and the market-making result of a period.",
    input: ReportPeriod,
    output: HouseReport,
  }),
  getDailyReport: operatorRead({
    path: "/v1/reports/daily",
    summary: "Get the figures of a period day by day, and those of the period before.",
    input: ReportPeriod,
    output: DailyReport,
    extension: true,
  }),
  getTradersReport: operatorRead({
    path: "/v1/reports/traders",
    summary: "List the traders of a period with their volume and results.",
    input: ReportPeriod.extend({ userId: UserId.optional().describe("Extension: only this user, in the totals too.") }),
    output: TradersReport,
  }),
  getFundingReport: operatorRead({
    path: "/v1/reports/funding",
    summary: "Get the deposits and withdrawals of a period.",
    input: ReportPeriod,
    output: FundingReport,
  }),
  getRiskReport: operatorRead({
    path: "/v1/reports/risk",
    summary: "Get what all unsettled markets can cost together, by category, and the markets that can cost most.",
    input: z.object({
      limit: queryInteger(z.number().int().min(1).max(1000))
        .default(200)
        .meta({ description: "The most markets of each kind to list.", examples: [200] }),
    }),
    output: RiskReport,
    extension: true,
  }),
  listRisk: operatorRead({
    path: "/v1/risk",
    summary: "List the liability of every open market, or of markets with other statuses.",
    input: z.object({ status: StatusWords.optional() }),
    output: z.array(RiskItem),
  }),
};
