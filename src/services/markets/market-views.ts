import type { Input, Result } from "../../contract/operations.ts";
import { RECENT_MARKETS } from "../../contract/resources/markets.ts";
import { Fault } from "../../domain/fault.ts";
import { historyFrom, hourlyHistory, type PriceLife } from "../../domain/history.ts";
import { depthOf } from "../../domain/market/depth.ts";
import { pricesOf, type Side, statusAt } from "../../domain/market/market.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { listHourPrices, listRecentHours, listTrendingMarkets } from "../../queries/market-views.ts";
import { findMarket, findMarkets, type MarketRow } from "../../queries/markets.ts";
import { readSettlement } from "../../queries/settlement.ts";
import type { ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";

const MAX_TRENDING = 20;
const RECENT_HOURS = 24;

/** Views of markets for traders, and the preview of a settlement. */
export function marketViewHandlers(context: ServiceContext) {
  return {
    listTrendingMarkets: () => context.pool.read(readTrending),
    getMarketHistory: ({ id }) => context.pool.snapshot(async (sql) => readHistory(sql, await requireMarket(sql, id))),
    getMarketDepth: (input) => depth(context, input),
    listRecentPrices: (input) => recentPrices(context, input),
    previewSettlement: (input) => settlement(context, input),
  } satisfies Handlers;
}

/** The markets with the largest volume. */
export async function readTrending(sql: ReadSql): Promise<Result<"listTrendingMarkets">> {
  const rows = await listTrendingMarkets(sql, MAX_TRENDING);
  return rows.map((row) => ({
    id: row.id,
    question: row.question,
    yesPrice: pricesOf(row, row).yes,
    volume24h: row.volume24hMicro,
  }));
}

/**
 * The prices of a market's life; they stay readable after its end.
 * @param market as it stands at the moment that `sql` asks about
 */
export async function readHistory(sql: ReadSql, market: MarketRow): Promise<Result<"getMarketHistory">> {
  const life = lifeOf(market);
  const hours = await listHourPrices(sql, market.id, historyFrom(life.createdAt, life.endAt));
  return hourlyHistory(life, hours).map(({ t, yesPpm }) => ({
    t,
    yes: yesPpm / 1e6,
    no: (1_000_000 - yesPpm) / 1e6,
  }));
}

/** A market that takes no trades has nothing on offer. */
async function depth({ pool }: ServiceContext, { id }: Input<"getMarketDepth">): Promise<Result<"getMarketDepth">> {
  const market = await pool.read((sql) => requireMarket(sql, id));
  if (statusAt(market, market.now) !== "open") return { yes: [], no: [] };
  const ladder = (side: Side) =>
    depthOf(market, market, side).map(({ price, sizeMicro }) => ({ price, size: sizeMicro }));
  return { yes: ladder("yes"), no: ladder("no") };
}

/** The last day's prices of several markets in one request, so that a list can show a chart for each. */
async function recentPrices(
  { pool }: ServiceContext,
  { ids }: Input<"listRecentPrices">,
): Promise<Result<"listRecentPrices">> {
  const wanted = [...new Set(ids.split(",").filter((id) => id !== ""))];
  if (wanted.length > RECENT_MARKETS) throw new Fault("BAD_REQUEST", `ids: at most ${RECENT_MARKETS} markets`);
  const [markets, hours] = await pool.snapshot((sql) =>
    Promise.all([findMarkets(sql, wanted), listRecentHours(sql, wanted)]),
  );
  return wanted.flatMap((id) => {
    const market = markets.get(id);
    if (!market) return [];
    const points = hourlyHistory(lifeOf(market), hours.get(id) ?? [], RECENT_HOURS);
    return { id, yes: points.slice(-RECENT_HOURS).map(({ yesPpm }) => yesPpm / 1e6) };
  });
}

/** Reads positions, never trades: the rest follows from the escrow and the pool. */
async function settlement(
  { pool }: ServiceContext,
  { id, outcome }: Input<"previewSettlement">,
): Promise<Result<"previewSettlement">> {
  const [market, settled] = await pool.snapshot((sql) =>
    Promise.all([requireMarket(sql, id), readSettlement(sql, id, outcome)]),
  );
  if (market.status === "settled") throw new Fault("MARKET_SETTLED", "Market is already settled");
  const { payouts, totalMicro, houseResultMicro, largest } = settled;
  const { question, closeAt, resolutionRef } = market;
  return {
    marketId: id,
    question,
    status: statusAt(market, market.now),
    closeAt,
    resolutionRef,
    outcome,
    price: pricesOf(market, market)[outcome],
    payouts,
    totalUsd: totalMicro,
    houseResultUsd: houseResultMicro,
    largest: largest && { userId: largest.traderId, amountUsd: largest.sharesMicro },
  };
}

/** From its creation to now, or to its settlement. */
function lifeOf(market: MarketRow): PriceLife {
  const { createdAt, p0Ppm, settledAt, now } = market;
  const latestPpm = Math.round(pricesOf(market, market).yes * 1e6);
  return { createdAt, p0Ppm, endAt: settledAt ?? now, latestPpm };
}

/** @throws Fault MARKET_NOT_FOUND */
export async function requireMarket(sql: ReadSql, id: string): Promise<MarketRow> {
  const market = await findMarket(sql, id);
  if (!market) throw new Fault("MARKET_NOT_FOUND", "Market not found");
  return market;
}
