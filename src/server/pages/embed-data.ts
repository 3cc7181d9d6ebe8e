import type { Input, WireResult } from "../../contract/operations.ts";
import type { FrameData, FrameList, FrameMarket } from "../../contract/resources/embed.ts";
import { type CurvePoint, pointsOf, stepsOf } from "../../domain/embed/curve-steps.ts";
import { Fault } from "../../domain/fault.ts";
import { hoursHoldUntil } from "../../domain/history.ts";
import { statusHoldsUntil } from "../../domain/market/market.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import type { Pool } from "../../postgres/pool.ts";
import { findFinalValue, listLatestTrades, listRecentPrices } from "../../queries/markets/market-views.ts";
import { lastProposalOf } from "../../queries/proposals.ts";
import { encodeResult } from "../../services/answers.ts";
import { loadPolicy } from "../../services/configuration/policy.ts";
import type { Cursors } from "../../services/cursor.ts";
import { decodeInput, withDatabaseFaults } from "../../services/invoke.ts";
import { loadTrending, readHistory, requireMarket } from "../../services/markets/market-views.ts";
import { loadPage, marketDetail, pageName } from "../../services/markets/markets.ts";
import { marketProposalView } from "../../services/proposals/proposal-view.ts";
import { POLICY } from "../../services/views/touched.ts";
import type { Loaded, Views } from "../../services/views/views.ts";

/** A card's small curve: a week in steps of four hours. */
const SPARK_MS = 7 * DAY_MS;
const SPARK_POINTS = 42;

/** One year in hours is more than a chart has pixels, and enough weight for a document. */
const CURVE_POINTS = 400;

/** How many log entries are searched for single trades, and how many trades of a market end its curve. */
const LATEST_ENTRIES = 2000;
const LATEST_TRADES = 200;
/** A market with fewer spans than this is young, and its curve shows single trades instead. */
const YOUNG_SPANS = 3;

/** The number of markets in a comparison. */
const COMPARED = 2;

/** More cards than a reader scrolls through; a search or a button shows more. */
const FIRST_MARKETS = 60;

export type View = FrameData["view"];

interface Question {
  view: View;
  /** If empty, the view chooses. */
  marketIds: readonly string[];
}

/** A market before its language is known. */
export interface ReadMarket extends Pick<FrameMarket, "detail" | "history" | "terms"> {
  /** The value of the feed that settled the market, as a decimal. */
  finalValue: string | undefined;
  /** The proposal that waits. */
  proposal: WireResult<"getMarketProposal"> | undefined;
}

/** The part of a frame's data that comes from the database. */
export interface Contents extends Pick<FrameData, "limits" | "markets" | "nextCursor" | "sparks" | "trending"> {
  market?: ReadMarket;
  compared?: [ReadMarket, ReadMarket];
}

/** The filters of a list, and where its next page begins. */
export interface ListQuery {
  q?: string | undefined;
  category?: string | undefined;
  cursor?: string | undefined;
}

type PublicReads = Pick<Pool, "read" | "snapshot">;

/**
 * Reads what views show to any visitor, each answer from one snapshot of the database. Answers stay in memory until a
 * commit changes what they show: equal widgets cost one read.
 */
export class FrameReader {
  readonly #publicReads: PublicReads;
  readonly #contents: (question: Question) => Promise<Contents>;
  readonly #list: (input: Input<"listMarkets">) => Promise<FrameList>;
  readonly #search: (input: Input<"listMarkets">) => Promise<FrameList>;

  constructor(publicReads: PublicReads, cursors: Cursors, views: Views) {
    this.#publicReads = publicReads;
    this.#contents = views.share(
      ({ view, marketIds }) => JSON.stringify([view, ...marketIds]),
      (question) => publicReads.snapshot((sql) => loadContents(sql, cursors, question)),
    );
    this.#list = views.share(pageName, (input) => publicReads.snapshot((sql) => loadList(sql, cursors, input)));
    // The number of possible searches is unlimited, so their answers are not kept.
    this.#search = async (input) => (await publicReads.snapshot((sql) => loadList(sql, cursors, input))).result;
  }

  /**
   * @param marketId as in the address; for `compare` two ids separated by a comma
   * @throws Fault BAD_REQUEST for an impossible id or a wrong number of ids, MARKET_NOT_FOUND, DATABASE_UNAVAILABLE
   */
  async read(view: View, marketId: string | undefined): Promise<Contents> {
    const stated = view === "compare" ? (marketId ?? "").split(",") : marketId === undefined ? [] : [marketId];
    if (view === "compare" && stated.length !== COMPARED)
      throw new Fault("BAD_REQUEST", "marketId: must be two market ids, separated by a comma");
    const marketIds = stated.map((id) => decodeInput("getMarket", { id }).id);
    return withDatabaseFaults(this.#contents({ view, marketIds }));
  }

  /** The prices of a market, as its widget draws them. @throws Fault as `read` does */
  async curve(id: string): Promise<CurvePoint[]> {
    const { market } = await this.read("market", id);
    return market ? pointsOf(market.history) : [];
  }

  /** The value of the feed that settled a market, as a decimal. @throws Fault DATABASE_UNAVAILABLE */
  finalValue(id: string): Promise<string | undefined> {
    return withDatabaseFaults(this.#publicReads.read((sql) => findFinalValue(sql, id)));
  }

  /** The proposal about a market that waits. @throws Fault as `read` does */
  async proposal(id: string): Promise<ReadMarket["proposal"]> {
    return (await this.read("market", id)).market?.proposal;
  }

  /** @throws Fault BAD_REQUEST, DATABASE_UNAVAILABLE */
  async list(query: ListQuery): Promise<FrameList> {
    const input = decodeInput("listMarkets", { ...query, limit: String(FIRST_MARKETS) });
    return withDatabaseFaults(input.q === undefined ? this.#list(input) : this.#search(input));
  }
}

async function loadContents(sql: ReadSql, cursors: Cursors, { view, marketIds }: Question): Promise<Loaded<Contents>> {
  const { policy, until } = await loadPolicy(sql);
  const { feeBps, maxTradeUsd } = policy;
  const limits = { feeBps, maxTradeUsd };
  const parts: Loaded<object>[] = [{ result: { limits }, tags: [POLICY], until }];
  const shows = (part: Loaded<object>): void => void parts.push(part);
  if (view === "markets") {
    const { result, ...holds } = await loadList(
      sql,
      cursors,
      decodeInput("listMarkets", { limit: `${FIRST_MARKETS}` }),
    );
    const { items, ...rest } = result;
    shows({ result: { markets: items, ...rest }, ...holds });
    const trending = await loadTrending(sql);
    shows({ ...trending, result: { trending: encodeResult("listTrendingMarkets", trending.result) } });
  } else if (view === "compare") {
    const loaded = await Promise.all(marketIds.map((id) => loadMarket(sql, id, CURVE_POINTS)));
    for (const { tags, until } of loaded) shows({ result: {}, tags, until });
    shows({ result: { compared: loaded.map(({ result }) => result) }, tags: [], until: Number.POSITIVE_INFINITY });
  } else if (view !== "portfolio") {
    let [id] = marketIds;
    if (id === undefined) {
      const { result, ...holds } = await loadTrending(sql);
      shows({ result: {}, ...holds });
      id = result[0]?.id;
      if (id === undefined) throw new Fault("MARKET_NOT_FOUND", "There is no open market at the moment");
    }
    const { result, ...holds } = await loadMarket(sql, id, view === "card" ? SPARK_POINTS : CURVE_POINTS);
    shows({ result: { market: result }, ...holds });
  }
  return {
    result: Object.assign({}, ...parts.map(({ result }) => result)),
    tags: parts.flatMap(({ tags }) => tags),
    until: Math.min(...parts.map((part) => part.until)),
  };
}

async function loadList(sql: ReadSql, cursors: Cursors, input: Input<"listMarkets">): Promise<Loaded<FrameList>> {
  const { result, tags, until } = await loadPage(sql, cursors, input);
  const { items, nextCursor } = encodeResult("listMarkets", result);
  const ids = items.map(({ id }) => id);
  return { result: { items, nextCursor, sparks: await readSparks(sql, ids) }, tags, until };
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

/** @param points the most points of its curve, not counting single trades */
async function loadMarket(sql: ReadSql, id: string, points: number): Promise<Loaded<ReadMarket>> {
  const row = await requireMarket(sql, id);
  const history = encodeResult("getMarketHistory", await readHistory(sql, row));
  const latest = await listLatestTrades(sql, [id], LATEST_ENTRIES);
  const curve = endingWith(latest.get(id) ?? [], curveOf(history, points));
  const { kind, p0Ppm, fundMicro, yesMicro, noMicro, settledAt, now } = row;
  const terms = { kind, p0Ppm, fundMicro: `${fundMicro}`, yesMicro: `${yesMicro}`, noMicro: `${noMicro}` };
  const detail = encodeResult("getMarket", marketDetail(row));
  const finalValue = settledAt === null ? undefined : await findFinalValue(sql, id);
  return {
    result: { detail, history: stepsOf(curve), finalValue, proposal: await readProposal(sql, id), terms },
    tags: [id],
    until: settledAt === null ? Math.min(statusHoldsUntil(row, now), hoursHoldUntil(now)) : Number.POSITIVE_INFINITY,
  };
}

/** The waiting proposal about a market, as everyone may see it. */
async function readProposal(sql: ReadSql, marketId: string): Promise<WireResult<"getMarketProposal"> | undefined> {
  const last = await lastProposalOf(sql, marketId);
  return last?.status === "pending" ? encodeResult("getMarketProposal", marketProposalView(last)) : undefined;
}

/** The same steps in fewer points: a price holds until the next point, so points that repeat it are dropped. */
export function curveOf(history: WireResult<"getMarketHistory">, points = CURVE_POINTS): CurvePoint[] {
  const steps = history.filter(({ yes }, index) => index === 0 || yes !== history[index - 1]?.yes);
  const stride = Math.ceil(steps.length / points);
  return steps
    .filter((_, index) => index % stride === 0 || index === steps.length - 1)
    .map(({ t, yes }) => [Date.parse(t), yes]);
}

/**
 * The curve, ending in single trades, as on a page that was open all the time. A price of the curve holds until the
 * first trade; the last point stays last.
 */
export function endingWith(
  trades: readonly { t: number; yesPpm: number }[],
  curve: readonly CurvePoint[],
): CurvePoint[] {
  const shown = trades.slice(-LATEST_TRADES).map(({ t, yesPpm }): CurvePoint => [t, yesPpm / 1e6]);
  const since = shown[0]?.[0] ?? Number.POSITIVE_INFINITY;
  const last = curve.at(-1);
  const until = shown.at(-1)?.[0] ?? 0;
  return [
    ...curve.filter(([t]) => t < since),
    ...shown,
    ...(last && last[0] >= since && last[0] > until ? [last] : []),
  ];
}
