import type { MarketKind, Side, StoredStatus } from "../domain/market/market.ts";
import { DAY_MS } from "../domain/time/units.ts";
import { bigint, named, nullable, rowReader, text, whole } from "../ledger/codec.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { PRICED, pricedColumns } from "./priced.ts";
import { marketHours } from "./rollups.ts";

const MARKET = {
  id: text(),
  question: text(),
  category: text(),
  closeAt: whole(),
  resolutionRef: text(),
  meta: text(),
  createdAt: whole(),
  status: text<StoredStatus>(),
  ...PRICED,
  volumeMicro: bigint(),
  outcome: nullable(text<Side>()),
  settledAt: nullable(whole()),
  /** The database's clock, which decides whether the market is closed. */
  now: whole(),
};
const toMarket = rowReader(MARKET);
const toListed = rowReader({ ...MARKET, volume24hMicro: named("volume_24h", bigint()) });

/** A market with its state, as the views need it. */
export type MarketRow = ReturnType<typeof toMarket>;
export type MarketListRow = ReturnType<typeof toListed>;

function columns(sql: ReadSql) {
  return sql`m.id, m.question, m.category, m.close_at, m.resolution_ref, m.meta, m.created_at, b.status, b.volume_micro,
             b.outcome, b.settled_at, ${pricedColumns(sql)}, ${nowMs(sql)} as now`;
}

/** Markets by id; those that do not exist are not in the map. */
export async function findMarkets(sql: ReadSql, ids: readonly string[]): Promise<Map<string, MarketRow>> {
  const rows = await sql`
    select ${columns(sql)}
      from market m
      join book b on b.market_id = m.id
     where m.id = any(${textArray(ids)}::text[])`;
  return new Map(rows.map((row) => [row.id as string, toMarket(row)]));
}

/** One market; undefined when there is none of this id. */
export async function findMarket(sql: ReadSql, id: string): Promise<MarketRow | undefined> {
  return (await findMarkets(sql, [id])).get(id);
}

export interface MarketQuery {
  category?: string | undefined;
  kind?: MarketKind | undefined;
  q?: string | undefined;
  limit: number;
  /** The last market of the previous page. */
  after?: { closeAt: number; id: string } | undefined;
}

/** Markets that take trades now, by closing time. Volumes come from the hourly rollup, whole hours back from now. */
export async function listOpenMarkets(
  sql: ReadSql,
  { category, kind, q, limit, after }: MarketQuery,
): Promise<MarketListRow[]> {
  const rows = await sql`
    select ${columns(sql)}, coalesce(v.volume_micro, 0)::bigint as volume_24h
      from market m
      join book b on b.market_id = m.id
      left join lateral (
        select sum(h.volume_micro) as volume_micro
          from ${marketHours(sql)} h
         where h.market_id = m.id
           and h.hour > ${nowMs(sql)} - ${DAY_MS}::bigint
      ) v on true
     where b.status = 'open'
       and m.close_at > ${nowMs(sql)}
       ${category ? sql`and m.category = ${category}` : sql``}
       ${kind ? sql`and m.kind = ${kind}` : sql``}
       ${q ? sql`and market_words(m.question, m.meta) @@ market_query(${q})` : sql``}
       ${after ? sql`and (m.close_at, m.id) > (${after.closeAt}, ${after.id})` : sql``}
     order by m.close_at, m.id
     limit ${limit}`;
  return rows.map(toListed);
}
