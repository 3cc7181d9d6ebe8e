import type { Input, Result } from "../../contract/operations.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { pricesOf, statusAt } from "../../domain/market/market.ts";
import { termsOf } from "../../domain/market/terms.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { findMarkets, listOpenMarkets, type MarketRow } from "../../queries/markets.ts";
import { type ServiceContext, submit } from "../context.ts";
import type { Cursors } from "../cursor.ts";
import type { Caller, Handlers } from "../invoke.ts";
import { batchReads } from "../read-batch.ts";

/** Lists markets, and lets operators create, suspend, resume and settle them. */
export function marketHandlers(context: ServiceContext) {
  const detail = batchReads(async (ids) =>
    mapValues(await context.pool.read((sql) => findMarkets(sql, ids)), marketDetail),
  );
  return {
    listMarkets: (input) => context.pool.read((sql) => readMarkets(sql, context.cursors, input)),
    getMarket: async ({ id }) => {
      const market = await detail(id);
      if (!market) throw new Fault("MARKET_NOT_FOUND", "Market not found");
      return market;
    },
    createMarket: (input, caller) => createMarket(context, input, caller),
    suspendMarket: ({ id }, caller) =>
      submit(context, "suspendMarket", { type: "suspendMarket", marketId: id }, caller, (result) => result),
    resumeMarket: ({ id }, caller) =>
      submit(context, "resumeMarket", { type: "resumeMarket", marketId: id }, caller, (result) => result),
    settleMarket: ({ marketId, outcome, expectPayouts, expectTotalUsd }, caller) => {
      const expect = { payouts: expectPayouts, totalMicro: expectTotalUsd };
      return submit(context, "settleMarket", { type: "settleMarket", marketId, outcome, expect }, caller, (result) => ({
        ...result,
        status: "settled",
      }));
    },
  } satisfies Handlers;
}

/** A page of the markets that take trades now. */
export async function readMarkets(
  sql: ReadSql,
  cursors: Cursors,
  input: Input<"listMarkets">,
): Promise<Result<"listMarkets">> {
  const { category, kind, q, limit } = input;
  const list = cursors.list("listMarkets", input);
  const [closeAt, id] = list.reached(["number", "string"]) ?? [];
  const after = closeAt === undefined || id === undefined ? undefined : { closeAt, id };
  const rows = await listOpenMarkets(sql, { category, kind, q, limit: limit + 1, after });
  const { page, nextCursor } = list.page(rows, limit, (last) => [last.closeAt, last.id]);
  const items = page.map((row) => ({
    id: row.id,
    question: row.question,
    category: row.category,
    kind: row.kind,
    yesPrice: pricesOf(row, row).yes,
    volume24h: row.volume24hMicro,
    closeAt: row.closeAt,
  }));
  return { items, nextCursor };
}

function mapValues<From, To>(map: Map<string, From>, convert: (value: From) => To): Map<string, To> {
  return new Map([...map].map(([key, value]) => [key, convert(value)]));
}

/** A market in full. */
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
  };
}

function createMarket(context: ServiceContext, input: Input<"createMarket">, caller: Caller) {
  const { p0, meta, liquidityUsd, ...market } = input;
  const outcome = termsOf(input, context.oracle.hashes);
  return submit(
    context,
    "createMarket",
    {
      type: "createMarket",
      ...market,
      id: context.newId("mkt"),
      p0Ppm: Math.round(p0 * 1e6),
      meta: canonicalJson(meta),
      liquidityMicro: liquidityUsd ?? null,
      terms: outcome.kind === "terms" ? outcome.terms : null,
    },
    caller,
    (result) => ({ ...result, status: "open" }),
  );
}
