import type { Input, Result } from "../../contract/operations.ts";
import { statusAt } from "../../domain/market/market.ts";
import { sellValueOf } from "../../domain/market/sale.ts";
import { statusFilter } from "../../domain/market/status-filter.ts";
import { decodeTerms } from "../../domain/market/terms.ts";
import { centsFromMicro, roundPrice } from "../../domain/money.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { longReads } from "../../postgres/long-reads.ts";
import {
  type CategoryRow,
  countActiveTraders,
  listCategoryResults,
  listFunding,
  listRisks,
  type RiskRow,
  readPeriodStart,
  sumPendingAndOwed,
  sumRefunds,
  sumRisks,
} from "../../queries/reports.ts";
import { readHedgeBook } from "../../queries/traders/hedges.ts";
import { listHeldMarkets } from "../../queries/traders/positions.ts";
import { listTraderResults, type TraderResult } from "../../queries/traders/trader-results.ts";
import { readPolicy } from "../configuration/policy.ts";
import type { ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import { shareReads } from "../read-batch.ts";
import { dailyReport } from "./daily-report.ts";

const MAX_TRADERS = 100;
const MAX_CATEGORIES = 100;

/** Reports for operators. A period of n days is the current UTC day and the n - 1 days before it. */
export function reportHandlers(context: ServiceContext) {
  const long = { ...context, pool: longReads(context.pool) };
  // Operators who look at the same report at the same time share it.
  const shared = <Asked, Report>(read: (at: ServiceContext, input: Asked) => Promise<Report>) =>
    shareReads<Asked, Report>(JSON.stringify, (input) => read(long, input));
  const ofAll = shared(traders);
  return {
    getOverviewReport: shared(overview),
    getHouseReport: shared(house),
    getDailyReport: shared(dailyReport),
    // Of one trader it is short.
    getTradersReport: (input) => (input.userId === undefined ? ofAll(input) : traders(context, input)),
    getFundingReport: (input) => funding(context, input),
    getRiskReport: shared(riskReport),
    listRisk: (input) => risk(context, input),
    getHedgeExposure: shared(hedgeExposure),
  } satisfies Handlers;
}

async function overview(
  { pool }: ServiceContext,
  { periodDays }: Input<"getOverviewReport">,
): Promise<Result<"getOverviewReport">> {
  const [categories, activeTraders] = await pool.snapshot(async (sql) => {
    const startMs = await readPeriodStart(sql, periodDays);
    return Promise.all([listCategoryResults(sql, startMs), countActiveTraders(sql, startMs)]);
  });
  return {
    periodDays,
    totalVolume: sum(categories, ({ volumeMicro }) => volumeMicro),
    houseRevenue: sum(categories, revenueMicro),
    settledMarkets: categories.reduce((count, { settledMarkets }) => count + settledMarkets, 0),
    activeTraders,
  };
}

async function house(
  { pool }: ServiceContext,
  { periodDays }: Input<"getHouseReport">,
): Promise<Result<"getHouseReport">> {
  const [categories, refunds] = await pool.snapshot(async (sql) => {
    const startMs = await readPeriodStart(sql, periodDays);
    return Promise.all([listCategoryResults(sql, startMs), sumRefunds(sql, startMs)]);
  });
  const { markets, positions, paidMicro, feesMicro, treasuryMicro } = refunds;
  return {
    periodDays,
    totalFees: sum(categories, ({ feeMicro }) => feeMicro),
    spreadIncome: sum(categories, ({ spreadMicro }) => spreadMicro),
    refunds: { markets, positions, paid: paidMicro, fees: feesMicro, treasury: treasuryMicro },
    byCategory: categories.map((category) => ({
      category: category.category,
      revenue: revenueMicro(category),
      volume: category.volumeMicro,
      netMargin: ratio(revenueMicro(category), category.volumeMicro),
    })),
  };
}

async function traders(
  { pool }: ServiceContext,
  { periodDays, userId }: Input<"getTradersReport">,
): Promise<Result<"getTradersReport">> {
  const { rows, totals, holdings } = await pool.snapshot(async (sql) => {
    const startMs = await readPeriodStart(sql, periodDays);
    const results = await listTraderResults(sql, startMs, MAX_TRADERS, userId);
    const leaders = results.traders.map(({ traderId }) => traderId);
    return { rows: results.traders, totals: results.totals, holdings: await readHoldings(sql, leaders, startMs) };
  });
  return {
    periodDays,
    traders: rows.map((row) => traderView(row, holdings.get(row.traderId))),
    totals: {
      traders: totals.traders,
      trades: totals.trades,
      volume: totals.volumeMicro,
      totalPnl: totals.totalPnlMicro,
    },
  };
}

interface Holdings {
  /** The number of markets traded within the period. */
  markets: number;
  /** The proceeds of selling all shares, less their cost, position by position. */
  sellPnlMicro: bigint;
}

async function readHoldings(sql: ReadSql, traderIds: string[], startMs: number): Promise<Map<string, Holdings>> {
  if (traderIds.length === 0) return new Map();
  const [{ value: policy }, markets] = await Promise.all([readPolicy(sql), listHeldMarkets(sql, traderIds, startMs)]);
  const found = new Map(traderIds.map((id): [string, Holdings] => [id, { markets: 0, sellPnlMicro: 0n }]));
  for (const { positions, isOpen, ...market } of markets) {
    // A trader may have traded both sides of the market.
    const recent = new Set<string>();
    for (const { traderId, side, sharesMicro, costMicro, isRecent } of positions) {
      if (isRecent) recent.add(traderId);
      const holdings = found.get(traderId);
      if (holdings && isOpen && sharesMicro > 0n)
        holdings.sellPnlMicro += sellValueOf(market, market, side, sharesMicro, policy.feeBps) - costMicro;
    }
    for (const traderId of recent) {
      const holdings = found.get(traderId);
      if (holdings) holdings.markets += 1;
    }
  }
  return found;
}

function traderView(row: TraderResult, holdings: Holdings | undefined): Result<"getTradersReport">["traders"][number] {
  const { traderId, volumeMicro, trades, settledPositions, wins, realizedMicro, unrealizedMicro } = row;
  return {
    userId: traderId,
    volume: volumeMicro,
    trades,
    markets: holdings?.markets ?? 0,
    winRate: settledPositions === 0 ? null : roundPrice(wins / settledPositions),
    realizedPnl: realizedMicro,
    unrealizedPnl: unrealizedMicro,
    totalPnl: realizedMicro + unrealizedMicro,
    sellPnl: holdings?.sellPnlMicro ?? 0n,
  };
}

async function funding(
  { pool }: ServiceContext,
  { periodDays }: Input<"getFundingReport">,
): Promise<Result<"getFundingReport">> {
  const [providers, { pendingMicro, owedMicro }] = await pool.snapshot(async (sql) => {
    const startMs = await readPeriodStart(sql, periodDays);
    return Promise.all([listFunding(sql, startMs), sumPendingAndOwed(sql)]);
  });
  const inflows = sum(providers, ({ inflowMicro }) => inflowMicro);
  const outflows = sum(providers, ({ outflowMicro }) => outflowMicro);
  return {
    periodDays,
    inflows,
    outflows,
    pendingWithdrawals: pendingMicro,
    owedUsd: owedMicro,
    netMovement: inflows - outflows,
    byProvider: providers.map(({ provider, inflowMicro, outflowMicro }) => ({
      provider,
      inflows: inflowMicro,
      outflows: outflowMicro,
    })),
  };
}

async function risk({ pool }: ServiceContext, { status }: Input<"listRisk">): Promise<Result<"listRisk">> {
  const rows = await pool.read((sql) => listRisks(sql, statusFilter(status ?? "open")));
  return rows.map((row) => riskItem(row, status !== undefined));
}

async function riskReport(
  { pool }: ServiceContext,
  { limit }: Input<"getRiskReport">,
): Promise<Result<"getRiskReport">> {
  const unsettled = statusFilter("unsettled");
  const { summary, rows } = await pool.snapshot(async (sql) => {
    const found = await sumRisks(sql, unsettled, { markets: limit, categories: MAX_CATEGORIES });
    return { summary: found, rows: await listRisks(sql, unsettled, found.ids) };
  });
  const items = new Map(rows.map((row) => [row.marketId, riskItem(row, true)]));
  return {
    markets: summary.markets,
    maxLiability: summary.worstMicro,
    treasuryUsd: summary.treasuryMicro,
    pricedMarkets: summary.pricedMarkets,
    byCategory: summary.categories.map(({ worst, ...each }) => ({ ...each, maxLiability: BigInt(worst) })),
    items: summary.ids.flatMap((id) => items.get(id) ?? []),
  };
}

/**
 * The most that the house can lose if a market settles now: the payout of the worse outcome less the traders' stakes.
 * @param isWhole with the fields that a query for a status gets
 */
function riskItem(row: RiskRow, isWhole: boolean): Result<"listRisk">[number] {
  const { marketId, question, yesPayoutMicro, noPayoutMicro, stakesMicro, ...market } = row;
  const worstMicro = yesPayoutMicro > noPayoutMicro ? yesPayoutMicro : noPayoutMicro;
  const lossMicro = worstMicro - stakesMicro;
  return {
    marketId,
    question,
    maxLiability: lossMicro > 0n ? lossMicro : 0n,
    yesPayout: yesPayoutMicro,
    noPayout: noPayoutMicro,
    ...(isWhole ? { status: statusAt(market, market.now), stakes: stakesMicro, ...factsOf(market) } : {}),
  };
}

function factsOf({
  outcome,
  category,
  closeAt,
  terms: stored,
}: Pick<RiskRow, "outcome" | "category" | "closeAt" | "terms">) {
  if (stored === null) return { outcome, category, closeAt, terms: null };
  const { feed, comparator, strike, upperStrike, instant } = decodeTerms(stored);
  return { outcome, category, closeAt, terms: { feed, comparator, strike, upperStrike, instant } };
}

async function hedgeExposure({ pool }: ServiceContext): Promise<Result<"getHedgeExposure">> {
  const { symbols, now } = await pool.snapshot(readHedgeBook);
  return {
    hedgeBook: symbols.map(({ activeCostMicro, ...row }) => ({
      ...row,
      activeCostMinor: centsFromMicro(activeCostMicro),
    })),
    updatedAt: now,
  };
}

/** Fees plus the market-making result; negative if the house lost more than it earned. */
function revenueMicro({ feeMicro, spreadMicro }: CategoryRow): bigint {
  return feeMicro + spreadMicro;
}

function sum<Row>(rows: readonly Row[], of: (row: Row) => bigint): bigint {
  return rows.reduce((total, row) => total + of(row), 0n);
}

function ratio(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : roundPrice(Number(part) / Number(whole));
}
