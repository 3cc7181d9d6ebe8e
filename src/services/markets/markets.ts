import { isDeepStrictEqual } from "node:util";
import type { Input, Result } from "../../contract/operations.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { hoursHoldUntil } from "../../domain/history.ts";
import { pricesOf, statusAt, statusHoldsUntil } from "../../domain/market/market.ts";
import { isPublicFilter, statusFilter } from "../../domain/market/status-filter.ts";
import { type FeedHashes, termsOf } from "../../domain/market/terms.ts";
import type { Command } from "../../engine/commands.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import {
  findMarketByKey,
  findMarkets,
  listMarketsByStatus,
  listOpenMarkets,
  type MarketListRow,
  type MarketQuery,
  type MarketRow,
} from "../../queries/markets.ts";
import { requireOperator, type ServiceContext, submit } from "../context.ts";
import type { Cursors } from "../cursor.ts";
import type { Caller, Handlers } from "../invoke.ts";
import { batchReads } from "../read-batch.ts";
import { MARKETS } from "../views/touched.ts";
import type { Loaded } from "../views/views.ts";

/** Lists markets, and lets operators create, suspend and resume them. */
export function marketHandlers(context: ServiceContext) {
  const { publicReads, views, cursors } = context;
  const detail = keepByMarket(context, (row) => ({
    result: marketDetail(row),
    tags: [row.id],
    until: statusHoldsUntil(row, row.now),
  }));
  const list = views.share(pageName, (input: Input<"listMarkets">) =>
    publicReads.read((sql) => loadPage(sql, cursors, input)),
  );
  return {
    // Searches are not kept: they depend on the configured language, which changes without a commit, and are unlimited.
    listMarkets: (input, caller) => {
      if (input.status !== undefined) return listByStatus(context, input, input.status, caller);
      return input.q === undefined
        ? list(input)
        : publicReads.read(async (sql) => (await loadPage(sql, cursors, input)).result);
    },
    getMarket: ({ id }) => detail(id),
    createMarket: (input, caller) => createMarket(context, input, caller),
    suspendMarket: ({ id }, caller) =>
      submit(context, "suspendMarket", { type: "suspendMarket", marketId: id }, caller, (result) => result),
    resumeMarket: ({ id }, caller) =>
      submit(context, "resumeMarket", { type: "resumeMarket", marketId: id }, caller, (result) => result),
    clarifyMarket: ({ id: marketId, text }, caller) => {
      const command = { type: "clarifyMarket", id: context.newId("clr"), marketId, text } as const;
      return submit(context, "clarifyMarket", command, caller, (result) => result);
    },
  } satisfies Handlers;
}

/** A kept read of single markets, which are loaded in batches. The returned read throws Fault MARKET_NOT_FOUND. */
export function keepByMarket<Shown extends object>(
  { publicReads, views }: Pick<ServiceContext, "publicReads" | "views">,
  show: (row: MarketRow) => Loaded<Shown>,
): (id: string) => Promise<Shown> {
  const find = batchReads(async (ids) => mapValues(await publicReads.read((sql) => findMarkets(sql, ids)), show));
  return views.keep(
    (id: string) => id,
    async (id) => {
      const shown = await find(id);
      if (!shown) throw new Fault("MARKET_NOT_FOUND", "Market not found");
      return shown;
    },
  );
}

/** The name of a list page without search words. */
export const pageName = ({ category, kind, limit, cursor }: Input<"listMarkets">) =>
  JSON.stringify([category, kind, limit, cursor]);

/** A page of the markets that currently accept trades. */
export async function loadPage(
  sql: ReadSql,
  cursors: Cursors,
  input: Input<"listMarkets">,
): Promise<Loaded<Result<"listMarkets">>> {
  const { page, nextCursor } = await readPage(cursors, input, (query) => listOpenMarkets(sql, query));
  const [first] = page;
  return {
    result: { items: page.map(marketItem), nextCursor },
    tags: [MARKETS, ...page.map(({ id }) => id)],
    // The first market closes before the others. Empty pages are not kept, because the number of such filters is unlimited.
    until: first ? Math.min(first.closeAt, hoursHoldUntil(first.now)) : 0,
  };
}

/** Markets in the states that an operator requests. Not kept in memory: few callers ask, each with a different filter. */
async function listByStatus(
  { pool, publicReads, cursors }: ServiceContext,
  input: Input<"listMarkets">,
  status: string,
  caller: Caller,
): Promise<Result<"listMarkets">> {
  const filter = statusFilter(status);
  const isPublic = isPublicFilter(filter);
  if (!isPublic) requireOperator(caller);
  // What anyone may ask ends after half a second.
  const { page, nextCursor } = await (isPublic ? publicReads : pool).read((sql) =>
    readPage(cursors, input, (query) => listMarketsByStatus(sql, filter, query)),
  );
  const items = page.map((row) => ({
    ...marketItem(row),
    status: statusAt(row, row.now),
    outcome: row.outcome,
    resolutionRef: row.resolutionRef,
    key: row.key,
    ...(row.waitingFor === null ? {} : { waitingFor: row.waitingFor }),
  }));
  return { items, nextCursor };
}

async function readPage<Row extends Pick<MarketRow, "id" | "closeAt">>(
  cursors: Cursors,
  input: Input<"listMarkets">,
  read: (query: MarketQuery) => Promise<Row[]>,
): Promise<{ page: Row[]; nextCursor: string | null }> {
  const { category, kind, q, limit } = input;
  const list = cursors.list("listMarkets", input);
  const [closeAt, id] = list.reached(["number", "string"]) ?? [];
  const after = closeAt === undefined || id === undefined ? undefined : { closeAt, id };
  const rows = await read({ category, kind, q, limit: limit + 1, after });
  return list.page(rows, limit, (last) => [last.closeAt, last.id]);
}

function marketItem(row: MarketListRow) {
  return {
    id: row.id,
    question: row.question,
    category: row.category,
    kind: row.kind,
    yesPrice: pricesOf(row, row).yes,
    volume24h: row.volume24hMicro,
    closeAt: row.closeAt,
  };
}

function mapValues<From, To>(map: Map<string, From>, convert: (value: From) => To): Map<string, To> {
  return new Map([...map].map(([key, value]) => [key, convert(value)]));
}

/** All fields of a market. */
export function marketDetail(row: MarketRow): Result<"getMarket"> {
  const prices = pricesOf(row, row);
  return {
    id: row.id,
    question: row.question,
    category: row.category,
    kind: row.kind,
    status: statusAt(row, row.now),
    yesPrice: prices.yes,
    noPrice: prices.no,
    volume: row.volumeMicro,
    closeAt: row.closeAt,
    resolutionRef: row.resolutionRef,
    meta: JSON.parse(row.meta),
    createdAt: row.createdAt,
    outcome: row.outcome,
    settledAt: row.settledAt,
    reason: reasonOf(row),
    corrections: [...(row.corrections ?? [])],
    key: row.key,
    clarifications: row.clarifications,
  };
}

/** Why a market was voided, or its outcome corrected last; null for neither. */
export function reasonOf({ corrections, voidReason }: Pick<MarketRow, "corrections" | "voidReason">): string | null {
  return corrections?.at(-1)?.reason ?? voidReason;
}

/**
 * If the market's key is taken, returns the existing market if it was created on the same terms: a script that runs
 * again gets the market that it created before.
 * @throws Fault MARKET_KEY_TAKEN when the terms differ
 */
async function createMarket(context: ServiceContext, input: Input<"createMarket">, caller: Caller) {
  const { key } = input;
  try {
    return await submitMarket(context, input, caller);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "MARKET_KEY_TAKEN" || key === undefined) throw error;
    const taken = await context.pool.read((sql) => findMarketByKey(sql, key));
    if (!taken || !hasTerms(taken, input)) throw error;
    const { id, createdAt, now } = taken;
    return { id, status: statusAt(taken, now), yesPrice: pricesOf(taken, taken).yes, createdAt };
  }
}

/** Liquidity is compared only if it is stated: the tenant's default may have changed since. */
function hasTerms(market: MarketRow, { p0, meta, liquidityUsd, key: _, ...terms }: Input<"createMarket">): boolean {
  const { question, category, kind, closeAt, resolutionRef } = market;
  return (
    isDeepStrictEqual({ question, category, kind, closeAt, resolutionRef }, terms) &&
    market.p0Ppm === ppmOf(p0) &&
    market.meta === canonicalJson(meta) &&
    (liquidityUsd === undefined || market.fundMicro === liquidityUsd)
  );
}

const ppmOf = (p0: number) => Math.round(p0 * 1e6);

function submitMarket(context: ServiceContext, input: Input<"createMarket">, caller: Caller) {
  const command = marketCommand(context.newId("mkt"), input, context.oracle.hashes);
  return submit(context, "createMarket", command, caller, (result) => ({ ...result, status: "open" }));
}

/** The engine's command that creates a market. */
export function marketCommand(id: string, input: Input<"createMarket">, feeds: FeedHashes): Command<"createMarket"> {
  const { p0, meta, liquidityUsd, key, resolution = null, ...market } = input;
  const outcome = termsOf(input, feeds);
  return {
    type: "createMarket",
    ...market,
    id,
    fileKey: key,
    p0Ppm: ppmOf(p0),
    meta: canonicalJson(meta),
    liquidityMicro: liquidityUsd ?? null,
    resolution,
    terms: outcome.kind === "terms" ? outcome.terms : null,
  };
}
