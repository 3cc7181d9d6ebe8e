import type { Input, Result } from "../contract/operations.ts";
import { statusAt } from "../domain/market/market.ts";
import { sellValueOf } from "../domain/market/sale.ts";
import { statusFilter } from "../domain/market/status-filter.ts";
import { centsFromMicro, roundPrice } from "../domain/money.ts";
import type { ReadSql } from "../postgres/connect.ts";
import {
  type CategoryRow,
  countActiveTraders,
  listCategoryResults,
  listFunding,
  listRisks,
  readPeriodStart,
  sumPendingAndOwed,
  sumRefunds,
} from "../queries/reports.ts";
import { readHedgeBook } from "../queries/traders/hedges.ts";
import { listOpenPositionsOf } from "../queries/traders/positions.ts";
import { listTraderResults, type TraderResult } from "../queries/traders/trader-results.ts";
import { readPolicy } from "./configuration/policy.ts";
import type { ServiceContext } from "./context.ts";
import type { Handlers } from "./invoke.ts";

const MAX_TRADERS = 100;

/** Reports for operators. A period of n days is the current UTC day and the n - 1 days before it. */
export function reportHandlers(context: ServiceContext) {
  return {
    getOverviewReport: (input) => overview(context, input),
    getHouseReport: (input) => house(context, input),
    getTradersReport: (input) => traders(context, input),
    getFundingReport: (input) => funding(context, input),
    listRisk: (input) => risk(context, input),
    getHedgeExposure: () => hedgeExposure(context),
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
  { periodDays }: Input<"getTradersReport">,
): Promise<Result<"getTradersReport">> {
  const { rows, totals, sellPnl } = await pool.snapshot(async (sql) => {
    const results = await listTraderResults(sql, await readPeriodStart(sql, periodDays), MAX_TRADERS);
    const leaders = results.traders.map(({ traderId }) => traderId);
    return { rows: results.traders, totals: results.totals, sellPnl: await readSellPnl(sql, leaders) };
  });
  return {
    periodDays,
    traders: rows.map((row) => ({ ...traderView(row), sellPnl: sellPnl.get(row.traderId) ?? 0n })),
    totals: {
      traders: totals.traders,
      trades: totals.trades,
      volume: totals.volumeMicro,
      totalPnl: totals.totalPnlMicro,
    },
  };
}

/** The proceeds of selling all shares of each user, less their cost, position by position. */
async function readSellPnl(sql: ReadSql, traderIds: string[]): Promise<Map<string, bigint>> {
  if (traderIds.length === 0) return new Map();
  const [{ value: policy }, positions] = await Promise.all([readPolicy(sql), listOpenPositionsOf(sql, traderIds)]);
  const results = new Map<string, bigint>();
  for (const position of positions) {
    const { traderId, side, sharesMicro, costMicro } = position;
    const gain = sellValueOf(position, position, side, sharesMicro, policy.feeBps) - costMicro;
    results.set(traderId, (results.get(traderId) ?? 0n) + gain);
  }
  return results;
}

function traderView(row: TraderResult): Omit<Result<"getTradersReport">["traders"][number], "sellPnl"> {
  const { traderId, volumeMicro, trades, markets, settledPositions, wins, realizedMicro, unrealizedMicro } = row;
  return {
    userId: traderId,
    volume: volumeMicro,
    trades,
    markets,
    winRate: settledPositions === 0 ? null : roundPrice(wins / settledPositions),
    realizedPnl: realizedMicro,
    unrealizedPnl: unrealizedMicro,
    totalPnl: realizedMicro + unrealizedMicro,
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

/**
 * The most that the house can lose if a market settles now: the payout of the worse outcome less the traders' stakes.
 */
async function risk({ pool }: ServiceContext, { status }: Input<"listRisk">): Promise<Result<"listRisk">> {
  const rows = await pool.read((sql) => listRisks(sql, statusFilter(status ?? "open")));
  return rows.map(({ marketId, question, yesPayoutMicro, noPayoutMicro, stakesMicro, ...market }) => {
    const worstMicro = yesPayoutMicro > noPayoutMicro ? yesPayoutMicro : noPayoutMicro;
    const lossMicro = worstMicro - stakesMicro;
    return {
      marketId,
      question,
      maxLiability: lossMicro > 0n ? lossMicro : 0n,
      yesPayout: yesPayoutMicro,
      noPayout: noPayoutMicro,
      ...(status === undefined ? {} : { status: statusAt(market, market.now), outcome: market.outcome }),
    };
  });
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
