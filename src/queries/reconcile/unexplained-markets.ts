import { isoOf } from "../../ledger/on-record.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { marketHours } from "../rollups.ts";

/** Whether an instant is the one that an entry names. Years of five digits are written in another way, and pass. */
const isInstant = (sql: ReadSql, column: string, text: string) =>
  sql`(${sql.unsafe(text)} like '+%' or ${sql.unsafe(text)} = ${isoOf(sql, column)})`;

/** The terms of a market, which decide who is paid, against the entry that created it. Each has its state. */
export function marketRows(sql: ReadSql) {
  return sql`
    market_rows as (
      select coalesce(m.id, e.id) as place
        from market m
        full join (select body ->> 'marketId' as id, body from entry where type = 'market.created') e on e.id = m.id
       where m.id is null or e.id is null
          or (m.question, m.category, m.kind, m.resolution_ref, m.file_key, m.terms)
             is distinct from (body ->> 'question', body ->> 'category', body ->> 'kind', body ->> 'resolutionRef',
                               body ->> 'key', (body -> 'terms')::text)
          or m.p0_ppm <> (body ->> 'p0')::numeric * 1000000
          or m.fund_micro <> (body ->> 'liquidity')::numeric * 1000000
          or not ${isInstant(sql, "m.close_at", "body ->> 'closeAt'")}
      union all
      select coalesce(m.id, b.market_id)
        from market m
        full join book b on b.market_id = m.id
       where m.id is null or b.market_id is null
    )`;
}

/** The state of a market against what was done to it. */
export function stateRows(sql: ReadSql) {
  return sql`
    told_state as (
      select body ->> 'marketId' as market_id,
             max(body ->> 'outcome') filter (where type = 'market.settled') as outcome,
             coalesce(max(seq) filter (where type = 'market.suspended'), 0)
               > coalesce(max(seq) filter (where type = 'market.resumed'), 0) as suspended,
             bool_or(type = 'market.closed') as closed
        from entry
       where type like 'market.%'
       group by 1
    ),
    state_rows as (
      select b.market_id as place
        from book b
        left join told_state t using (market_id)
       where (b.outcome, b.closing_recorded) is distinct from (t.outcome, t.closed)
          or b.status <> case when t.outcome is not null then 'settled' when t.suspended then 'suspended' else 'open' end
    )`;
}

/** What the oracle reads of a market: the instant that decides it, and why it waits. */
export function watchRows(sql: ReadSql) {
  return sql`
    held as (
      select distinct on (market_id) market_id, reason, detail
        from (
          select body ->> 'marketId' as market_id, body ->> 'reason' as reason, body ->> 'detail' as detail, seq
            from entry
           where type = 'oracle.held'
        ) each
       order by market_id, seq desc
    ),
    watch_rows as (
      select coalesce(w.market_id, m.id) as place
        from oracle_watch w
        full join (select * from market where terms is not null) m on m.id = w.market_id
        left join market any_market on any_market.id = w.market_id
        left join book b on b.market_id = w.market_id
        left join held h on h.market_id = w.market_id
       where w.market_id is null or any_market.id is null
          or w.parsed <> (m.id is not null)
          or w.settled <> (b.status = 'settled')
          or (w.reason, w.detail) is distinct from (h.reason, h.detail)
          or (w.parsed and not ${isInstant(sql, "w.instant_at", "m.terms::json ->> 'instant'")})
          or (not w.parsed and w.instant_at <> any_market.close_at)
    )`;
}

/** Trades happened when their entries say, as far as the clocks of several servers agree. */
export function tradeRows(sql: ReadSql) {
  return sql`
    trade_rows as (
      select t.id as place
        from trade t
        join audit a on a.seq = t.seq
       where abs(t.ts - extract(epoch from a.ts::timestamptz) * 1000) > 300000
    )`;
}

/** The price at the end of each hour is that of its last trade. */
export function priceRows(sql: ReadSql) {
  return sql`
    last_trade as (
      select distinct on (market_id, ts - ts % 3600000) market_id, ts - ts % 3600000 as hour, yes_price_ppm
        from trade
       order by market_id, ts - ts % 3600000, seq desc
    ),
    price_rows as (
      select case when b.status is null then 'market_hour' else 'book' end as "table", market_id || ' ' || hour as place
        from ${marketHours(sql)} h
        join last_trade t using (market_id, hour)
        left join book b using (market_id, hour)
       where h.yes_price_ppm <> t.yes_price_ppm
    )`;
}
