import { RECENT_MARKETS } from "../../contract/constants.ts";
import type { Result } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { historyFrom, hourlyHistory, hoursHoldUntil, type PriceLife } from "../../domain/history.ts";
import { depthOf } from "../../domain/market/depth.ts";
import { pricesOf, type Side, statusAt, statusHoldsUntil } from "../../domain/market/market.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { listHourPrices, listRecentHours, listTrendingMarkets } from "../../queries/markets/market-views.ts";
import { findMarket, findMarkets, type MarketRow } from "../../queries/markets.ts";
import type { ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import { MARKETS, TRADES } from "../views/touched.ts";
import type { Loaded } from "../views/views.ts";
import { keepByMarket } from "./markets.ts";

const MAX_TRENDING = 20;
const RECENT_HOURS = 24;
/** How old the end of a history may be. A trade ends a history at once: only the time of its last point may be this old. */
const HISTORY_AGE_MS = 5000;

/** Views of markets for traders. */
export function marketViewHandlers(context: ServiceContext) {
  const { publicReads, views } = context;
  const trending = views.share(
    () => "",
    () => publicReads.read(loadTrending),
  );
  const history = views.share(
    (id: string) => id,
    (id) => publicReads.snapshot((sql) => loadHistory(sql, id)),
  );
  const depth = keepByMarket(context, loadedDepth);
  const recent = views.share(
    (ids: string) => ids,
    (ids) => loadRecentPrices(context, ids),
  );
  return {
    listTrendingMarkets: trending,
    getMarketHistory: ({ id }) => history(id),
    getMarketDepth: ({ id }) => depth(id),
    listRecentPrices: ({ ids }) => recent(ids),
  } satisfies Handlers;
}

/** The markets with the largest volume. */
export async function loadTrending(sql: ReadSql): Promise<Loaded<Result<"listTrendingMarkets">>> {
  const rows = await listTrendingMarkets(sql, MAX_TRENDING);
  const result = rows.map((row) => ({
    id: row.id,
    question: row.question,
    yesPrice: pricesOf(row, row).yes,
    volume24h: row.volume24hMicro,
  }));
  // A trade on any market may make it one of the largest.
  const ends = rows.flatMap(({ closeAt, now }) => [closeAt, hoursHoldUntil(now)]);
  return { result, tags: [MARKETS, TRADES], until: Math.min(...ends) };
}

async function loadHistory(sql: ReadSql, id: string): Promise<Loaded<Result<"getMarketHistory">>> {
  const market = await requireMarket(sql, id);
  const age = market.settledAt === null ? market.now + HISTORY_AGE_MS : Number.POSITIVE_INFINITY;
  const until = Math.min(age, pointsHoldUntil(market));
  return { result: await readHistory(sql, market), tags: [id], until };
}

/**
 * The prices of a market's life; they stay readable after its end.
 * @param market the market as `sql` sees it
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

/** A market that accepts no trades offers nothing. */
function loadedDepth(market: MarketRow): Loaded<Result<"getMarketDepth">> {
  const isOpen = statusAt(market, market.now) === "open";
  const ladder = (side: Side) =>
    isOpen ? depthOf(market, market, side).map(({ price, sizeMicro }) => ({ price, size: sizeMicro })) : [];
  return {
    result: { yes: ladder("yes"), no: ladder("no") },
    tags: [market.id],
    until: statusHoldsUntil(market, market.now),
  };
}

/** The last day's prices of several markets in one request, so that a list can show a chart for each market. */
async function loadRecentPrices(
  { publicReads }: ServiceContext,
  ids: string,
): Promise<Loaded<Result<"listRecentPrices">>> {
  const wanted = [...new Set(ids.split(",").filter((id) => id !== ""))];
  if (wanted.length > RECENT_MARKETS) throw new Fault("BAD_REQUEST", `ids: at most ${RECENT_MARKETS} markets`);
  const [markets, hours] = await publicReads.snapshot((sql) =>
    Promise.all([findMarkets(sql, wanted), listRecentHours(sql, wanted)]),
  );
  const found = wanted.flatMap((id) => markets.get(id) ?? []);
  const result = found.map((market) => {
    const points = hourlyHistory(lifeOf(market), hours.get(market.id) ?? [], RECENT_HOURS);
    return { id: market.id, yes: points.slice(-RECENT_HOURS).map(({ yesPpm }) => yesPpm / 1e6) };
  });
  // Unknown markets are omitted. An answer that omits any is not kept, because the number of unknown ids is unlimited.
  const until = found.length === wanted.length ? Math.min(...found.map(pointsHoldUntil)) : 0;
  return { result, tags: wanted, until };
}

/** Until when an hourly history gets no new point by time alone. */
function pointsHoldUntil({ createdAt, settledAt, now }: MarketRow): number {
  if (settledAt !== null) return Number.POSITIVE_INFINITY;
  return now > createdAt ? hoursHoldUntil(now) : createdAt + 1;
}

/** The time from a market's creation to its settlement, or to now. */
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
