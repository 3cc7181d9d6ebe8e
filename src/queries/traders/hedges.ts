import { bigint, integer, named, rowReader, text, whole } from "../../ledger/codec.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { readClock } from "../../postgres/database-time.ts";

const toSymbol = rowReader({
  symbol: text(),
  openTrades: integer(),
  longHedges: integer(),
  shortHedges: integer(),
  totalNotionalMinor: named("notional_minor", whole()),
  activeCostMicro: named("active_micro", bigint()),
});
export type HedgeSymbol = ReturnType<typeof toSymbol>;

/**
 * The hedge book by symbol: tagged purchases in markets not settled, since their position was last empty. A sale does
 * not name the purchase that it undoes, so what is left of a position's cost bounds the tags on it, in proportion:
 * a margin that is reduced by the active cost is never reduced by money that has been taken out again.
 */
export async function readHedgeBook(sql: ReadSql): Promise<{ symbols: HedgeSymbol[]; now: number }> {
  const [rows, now] = await Promise.all([
    sql`
    with
    tagged as materialized (
      select h.seq, h.symbol, h.direction, h.notional_minor, t.trader_id, t.market_id, t.side, t.amount_micro,
             p.shares_micro, p.cost_micro
        from hedge h
        join book b on b.market_id = h.market_id and b.status <> 'settled'
        -- Looked up one by one, whatever the planner thinks of the number of tags: never all trades.
        cross join lateral (select * from trade where seq = h.seq limit 1) t
        cross join lateral (
          select shares_micro, cost_micro from position
           where trader_id = t.trader_id and market_id = t.market_id and side = t.side and shares_micro > 0
           limit 1
        ) p
    ),
    emptied as materialized (
      select p.trader_id, p.market_id, p.side, last.seq
        from (
          select trader_id, market_id, side, shares_micro, min(seq) as seq
            from tagged
           group by trader_id, market_id, side, shares_micro
          offset 0
        ) p
       -- Only a position that was sold from can have been empty, and only its holder's trades are looked through.
       cross join lateral (
         select 1 as found
           from trade
          where trader_id = p.trader_id and market_id = p.market_id and side = p.side and released_micro is not null
            and seq > p.seq
          order by seq
          limit 1
       ) sale
       cross join lateral (
         select max(seq) as seq
           from (
             -- From what is held now back to what was held before each later trade.
             select seq, p.shares_micro - coalesce(sum(shares_micro) over (
                      order by seq desc rows between unbounded preceding and 1 preceding), 0) as left_micro
               from trade
              where trader_id = p.trader_id and market_id = p.market_id and side = p.side and seq > p.seq
           ) each
          where left_micro = 0
       ) last
    ),
    open as (
      select t.*, sum(amount_micro) over (partition by trader_id, market_id, side) as tagged_micro
        from tagged t
       where not exists (
         select from emptied e
          where e.trader_id = t.trader_id and e.market_id = t.market_id and e.side = t.side and e.seq > t.seq
       )
    )
    select symbol, count(*)::int4 as open_trades,
           (count(*) filter (where direction = 'long'))::int4 as long_hedges,
           (count(*) filter (where direction = 'short'))::int4 as short_hedges,
           -- The interface's integers end at 2^53 - 1.
           least(sum(notional_minor), 9007199254740991)::text as notional_minor,
           -- Rounded first: three thirds of a dollar are a dollar.
           trunc(round(sum(case when cost_micro >= tagged_micro then amount_micro
                                else amount_micro * cost_micro / tagged_micro end), 6))::text as active_micro
      from open
     group by symbol
     order by symbol`,
    readClock(sql),
  ]);
  return {
    symbols: rows.map(toSymbol),
    now,
  };
}
