import type { MarketKind, Side, StoredStatus } from "../domain/market/market.ts";
import { DAY_MS } from "../domain/time/units.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql, Row } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { type Priced, pricedColumns, toPriced } from "./priced.ts";

/** A market with its state, as the views need it. `now` is the database's clock, which decides whether it is closed. */
export interface MarketRow extends Priced {
  id: string;
  question: string;
  category: string;
  closeAt: number;
  resolutionRef: string;
  meta: string;
  createdAt: number;
  status: StoredStatus;
  volumeMicro: bigint;
  outcome: Side | null;
  settledAt: number | null;
  now: number;
}

export interface MarketListRow extends MarketRow {
  volume24hMicro: bigint;
}

function columns(sql: ReadSql) {
  return sql`m.id, m.question, m.category, m.close_at, m.resolution_ref, m.meta, m.created_at, b.status, b.volume_micro,
             b.outcome, b.settled_at, ${pricedColumns(sql)}, ${nowMs(sql)} as now`;
}

function toMarket(row: Row): MarketRow {
  return {
    id: row.id,
    question: row.question,
    category: row.category,
    closeAt: Number(row.close_at),
    resolutionRef: row.resolution_ref,
    meta: row.meta,
    createdAt: Number(row.created_at),
    status: row.status,
    ...toPriced(row),
    volumeMicro: BigInt(row.volume_micro),
    outcome: row.outcome,
    settledAt: row.settled_at === null ? null : Number(row.settled_at),
    now: Number(row.now),
  };
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
          from market_hour h
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
  return rows.map((row) => ({ ...toMarket(row), volume24hMicro: BigInt(row.volume_24h) }));
}
