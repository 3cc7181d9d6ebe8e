import type { WireResult } from "../../contract/operations.ts";
import type { FrameData, FrameMarket } from "../../contract/resources/embed.ts";
import { Fault } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import type { Pool } from "../../postgres/pool.ts";
import { listLatestTrades, listRecentPrices } from "../../queries/markets/market-views.ts";
import { encodeResult } from "../../services/answers.ts";
import { readPolicy } from "../../services/configuration/policy.ts";
import type { Cursors } from "../../services/cursor.ts";
import { decodeInput, withDatabaseFaults } from "../../services/invoke.ts";
import { readHistory, readTrending, requireMarket } from "../../services/markets/market-views.ts";
import { marketDetail, readMarkets } from "../../services/markets/markets.ts";

/** A card's little curve: a week in steps of four hours. */
const SPARK_MS = 7 * DAY_MS;
const SPARK_POINTS = 42;

/** A year of hours is more than a chart has pixels, and than a document should weigh. */
const CURVE_POINTS = 400;

/** How far back in the log single trades are looked for, and how many of a market's a curve ends with. */
const LATEST_ENTRIES = 2000;
const LATEST_TRADES = 200;
/** A market with fewer spans than this is young, and its curve shows single trades instead. */
const YOUNG_SPANS = 3;

/** More cards than a reader scrolls through; a search or a button shows the rest. */
const FIRST_MARKETS = 60;

export type View = FrameData["view"];

/** Reads the first data of a view, as any visitor may see it, from one snapshot of the database. */
export class FrameReader {
  readonly #pool: Pool;
  readonly #cursors: Cursors;

  constructor(pool: Pool, cursors: Cursors) {
    this.#pool = pool;
    this.#cursors = cursors;
  }

  /** @throws Fault BAD_REQUEST for what cannot be an id, MARKET_NOT_FOUND, DATABASE_UNAVAILABLE */
  async read(view: View, marketId: string | undefined): Promise<Contents> {
    const id = marketId === undefined ? undefined : decodeInput("getMarket", { id: marketId }).id;
    return withDatabaseFaults(this.#pool.snapshot((sql) => readContents(sql, this.#cursors, view, id)));
  }
}

type Contents = Pick<FrameData, "limits" | "market" | "markets" | "nextCursor" | "sparks" | "trending">;

async function readContents(
  sql: ReadSql,
  cursors: Cursors,
  view: View,
  marketId: string | undefined,
): Promise<Contents> {
  const { feeBps, maxTradeUsd } = (await readPolicy(sql)).value;
  const limits = { feeBps, maxTradeUsd };
  if (view === "portfolio") return { limits };
  const trending = encodeResult("listTrendingMarkets", await readTrending(sql));
  if (view === "markets") {
    const { items, nextCursor } = encodeResult(
      "listMarkets",
      await readMarkets(sql, cursors, { limit: FIRST_MARKETS }),
    );
    const ids = items.map(({ id }) => id);
    return { limits, trending, markets: items, nextCursor, sparks: await readSparks(sql, ids) };
  }
  const id = marketId ?? trending[0]?.id;
  if (id === undefined) throw new Fault("MARKET_NOT_FOUND", "There is no open market at the moment");
  return { limits, market: await readFrameMarket(sql, id) };
}

async function readSparks(sql: ReadSql, ids: string[]): Promise<Record<string, number[]>> {
  const from = Math.floor(wallClockMs()) - SPARK_MS;
  const sparks = await listRecentPrices(sql, ids, { from, spanMs: SPARK_MS / SPARK_POINTS });
  const young = ids.filter((id) => (sparks.get(id)?.length ?? 0) < YOUNG_SPANS);
  if (young.length === 0) return Object.fromEntries(sparks);
  for (const [id, trades] of await listLatestTrades(sql, young, LATEST_ENTRIES))
    sparks.set(
      id,
      trades.slice(-SPARK_POINTS).map(({ yesPpm }) => yesPpm),
    );
  return Object.fromEntries(sparks);
}

async function readFrameMarket(sql: ReadSql, id: string): Promise<FrameMarket> {
  const row = await requireMarket(sql, id);
  const history = encodeResult("getMarketHistory", await readHistory(sql, row));
  const latest = await listLatestTrades(sql, [id], LATEST_ENTRIES);
  const { kind, p0Ppm, fundMicro, yesMicro, noMicro } = row;
  const terms = { kind, p0Ppm, fundMicro: `${fundMicro}`, yesMicro: `${yesMicro}`, noMicro: `${noMicro}` };
  const detail = encodeResult("getMarket", marketDetail(row));
  return { detail, history: endingWith(latest.get(id) ?? [], curveOf(history)), terms };
}

/** The same steps in fewer points: a price holds until the next one, so points that repeat it are left out. */
export function curveOf(history: WireResult<"getMarketHistory">): FrameMarket["history"] {
  const steps = history.filter(({ yes }, index) => index === 0 || yes !== history[index - 1]?.yes);
  const stride = Math.ceil(steps.length / CURVE_POINTS);
  return steps
    .filter((_, index) => index % stride === 0 || index === steps.length - 1)
    .map(({ t, yes }) => [Date.parse(t), yes]);
}

/**
 * The curve with its last part in single trades, as a page that had been open all the while would show it. A price of the
 * curve holds until the first of them; the last one stays the last.
 */
export function endingWith(
  trades: readonly { t: number; yesPpm: number }[],
  curve: FrameMarket["history"],
): FrameMarket["history"] {
  const shown = trades.slice(-LATEST_TRADES).map(({ t, yesPpm }): [number, number] => [t, yesPpm / 1e6]);
  const since = shown[0]?.[0] ?? Number.POSITIVE_INFINITY;
  const last = curve.at(-1);
  const until = shown.at(-1)?.[0] ?? 0;
  return [
    ...curve.filter(([t]) => t < since),
    ...shown,
    ...(last && last[0] >= since && last[0] > until ? [last] : []),
  ];
}
