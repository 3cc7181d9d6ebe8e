import type { HourPrice } from "../../domain/history.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { bigint, named, nullable, rowReader, text, whole } from "../../ledger/codec.ts";
import { textArray } from "../../postgres/arrays.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";
import { PRICED, pricedColumns } from "../priced.ts";
import { marketHours } from "../rollups.ts";

const toTrending = rowReader({
  id: text(),
  question: text(),
  ...PRICED,
  volume24hMicro: named("volume_24h", bigint()),
  closeAt: whole(),
  /** The database's clock, from which the 24 hours are counted back. */
  now: whole(),
});
export type TrendingRow = ReturnType<typeof toTrending>;

/** Markets that take trades now, by their volume of the last 24 hours. Reads the rollup once, by its time index. */
export async function listTrendingMarkets(sql: ReadSql, limit: number): Promise<TrendingRow[]> {
  const rows = await sql`
    select m.id, m.question, ${pricedColumns(sql)},
           coalesce(v.volume_micro, 0)::bigint as volume_24h, m.close_at, ${nowMs(sql)} as now
      from market m
      join book b on b.market_id = m.id
      left join (
        select market_id, sum(volume_micro) as volume_micro
          from ${marketHours(sql)} h
         where hour > ${nowMs(sql)} - ${DAY_MS}::bigint
         group by market_id
      ) v on v.market_id = m.id
     where b.status = 'open'
       and m.close_at > ${nowMs(sql)}
     order by volume_24h desc, m.id
     limit ${limit}`;
  return rows.map(toTrending);
}

/** For each market, the hours of the last day with a trade, ascending, and the last such hour before them. */
export async function listRecentHours(sql: ReadSql, marketIds: readonly string[]): Promise<Map<string, HourPrice[]>> {
  const rows = await sql<{ market_id: string; hour: string; yes_price_ppm: number }[]>`
    select h.market_id, h.hour, h.yes_price_ppm
      from unnest(${textArray(marketIds)}::text[]) as wanted (id)
     cross join lateral (
        select market_id, hour, yes_price_ppm
          from ${marketHours(sql)} h
         where market_id = wanted.id
         order by hour desc
         limit 26
      ) h
     order by h.market_id, h.hour`;
  const hours = new Map<string, HourPrice[]>();
  for (const { market_id, hour, yes_price_ppm } of rows)
    hours.set(market_id, [...(hours.get(market_id) ?? []), { hour: Number(hour), yesPpm: yes_price_ppm }]);
  return hours;
}

/** The hours of a market with a trade, ascending: those from `from` on, and the last such hour before. */
export async function listHourPrices(sql: ReadSql, marketId: string, from: number): Promise<HourPrice[]> {
  const rows = await sql<{ hour: string; yes_price_ppm: number }[]>`
    (select hour, yes_price_ppm
       from ${marketHours(sql)} h
      where market_id = ${marketId} and hour < ${from}
      order by hour desc
      limit 1)
    union all
    (select hour, yes_price_ppm
       from ${marketHours(sql)} h
      where market_id = ${marketId} and hour >= ${from})
     order by hour`;
  return rows.map((row) => ({ hour: Number(row.hour), yesPpm: row.yes_price_ppm }));
}

/** The last price in each span of `spanMs` with a trade since `from`, in millionths, ascending. */
export async function listRecentPrices(
  sql: ReadSql,
  marketIds: readonly string[],
  { from, spanMs }: { from: number; spanMs: number },
): Promise<Map<string, number[]>> {
  const rows = await sql<{ market_id: string; prices: number[] }[]>`
    select market_id, json_agg(yes_price_ppm order by span) as prices
      from (
        select distinct on (market_id, span) market_id, span, yes_price_ppm
          from (
            select market_id, hour, hour / ${spanMs}::bigint as span, yes_price_ppm
              from ${marketHours(sql)} h
             where market_id = any(${textArray(marketIds)}::text[])
               and hour >= ${from}::bigint
          ) hours
         order by market_id, span, hour desc
      ) recent
     group by market_id`;
  return new Map(rows.map(({ market_id, prices }) => [market_id, prices]));
}

/**
 * The price after each trade of these markets among the last `entries` entries of the log, oldest first. Trades have no
 * index by market, so the search back is bounded.
 */
export async function listLatestTrades(
  sql: ReadSql,
  marketIds: readonly string[],
  entries: number,
): Promise<Map<string, { t: number; yesPpm: number }[]>> {
  const rows = await sql<{ market_id: string; ts: string; yes_price_ppm: number }[]>`
    select market_id, ts, yes_price_ppm
      from trade
     where seq > (select max(seq) from trade) - ${entries}::bigint
       and market_id = any(${textArray(marketIds)}::text[])
     order by seq`;
  const byMarket = Map.groupBy(rows, ({ market_id }) => market_id);
  return new Map(
    [...byMarket].map(([id, trades]) => [
      id,
      trades.map(({ ts, yes_price_ppm }) => ({ t: Number(ts), yesPpm: yes_price_ppm })),
    ]),
  );
}

const toValue = rowReader({ price: nullable(text()) });

/** The feed's decimal value that settled a market; undefined where a person or the tenant's oracle gave none. */
export async function findFinalValue(sql: ReadSql, marketId: string): Promise<string | undefined> {
  const [row] = await sql`
    select audit_json(payload) ->> 'price' as price
      from audit
     where type = 'oracle.resolved'
       and audit_json(payload) ->> 'marketId' = ${marketId}
     limit 1`;
  return row === undefined ? undefined : (toValue(row).price ?? undefined);
}
