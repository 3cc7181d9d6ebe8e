import type { ReadSql } from "../connect.ts";
import { readClock } from "./clock.ts";

export interface HedgeSymbol {
  symbol: string;
  openTrades: number;
  longHedges: number;
  shortHedges: number;
  totalNotionalMinor: number;
  activeCostMicro: bigint;
}

/**
 * The hedge book by symbol: tagged purchases in markets not settled, as far as their position is still held. A sale
 * does not name the purchase that it undoes, so what is left of a position's cost bounds the tags on it, in proportion:
 * a margin that is reduced by the active cost is never reduced by money that has been taken out again.
 */
export async function readHedgeBook(sql: ReadSql): Promise<{ symbols: HedgeSymbol[]; now: number }> {
  const [rows, now] = await Promise.all([
    sql`
    with
    open as (
      select h.symbol, h.direction, h.notional_minor, t.amount_micro, p.cost_micro,
             sum(t.amount_micro) over (partition by t.trader_id, t.market_id, t.side) as tagged_micro
        from hedge h
        join book b on b.market_id = h.market_id and b.status <> 'settled'
        -- Looked up one by one, whatever the planner thinks of the number of tags: never all trades.
        cross join lateral (select * from trade where seq = h.seq limit 1) t
        cross join lateral (
          select cost_micro from position
           where trader_id = t.trader_id and market_id = t.market_id and side = t.side and shares_micro > 0
           limit 1
        ) p
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
    symbols: rows.map((row) => ({
      symbol: row.symbol,
      openTrades: row.open_trades,
      longHedges: row.long_hedges,
      shortHedges: row.short_hedges,
      totalNotionalMinor: Number(row.notional_minor),
      activeCostMicro: BigInt(row.active_micro),
    })),
    now,
  };
}
