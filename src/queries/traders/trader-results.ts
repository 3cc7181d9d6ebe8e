import { bigint, integer, named, rowReader, text } from "../../ledger/codec.ts";
import type { ReadSql } from "../../postgres/connect.ts";

const toResult = rowReader({
  traderId: text(),
  volumeMicro: named("volume", bigint()),
  trades: integer(),
  markets: integer(),
  /** Positions in markets settled within the period, and how many of them were on the winning side. */
  settledPositions: named("positions", integer()),
  wins: integer(),
  realizedMicro: named("realized", bigint()),
  unrealizedMicro: named("unrealized", bigint()),
});
export type TraderResult = ReturnType<typeof toResult>;

/** Sums over all traders of the period, those beyond the list included. */
export interface TraderTotals {
  traders: number;
  trades: number;
  volumeMicro: bigint;
  totalPnlMicro: bigint;
}

/**
 * Traders of the period by volume, with the result of their sales and settlements within it and of what they hold now.
 * One statement, so that every position is counted either as settled or as open. The current price is that of the
 * market's last hour with trades, to which `trade.executed` has rounded it.
 */
export async function listTraderResults(
  sql: ReadSql,
  startMs: number,
  limit: number,
): Promise<{ traders: TraderResult[]; totals: TraderTotals }> {
  const rows = await sql`
    with
    active as (
      select trader_id, sum(volume_micro) as volume, sum(trades) as trades, sum(realized_micro) as realized
        from trader_day
       where day >= ${startMs}
       group by trader_id
    ),
    settled as (
      select p.trader_id,
             count(*) filter (where p.shares_micro > 0) as positions,
             count(*) filter (where p.shares_micro > 0 and p.side = b.outcome) as wins,
             sum(case when p.side = b.outcome then p.shares_micro else 0 end - p.cost_micro) as realized
        from book b
        join position p on p.market_id = b.market_id
       where b.settled_at >= ${startMs}
       group by p.trader_id
    ),
    price as (
      select b.market_id, h.yes_price_ppm as yes, 1000000 - h.yes_price_ppm as no
        from book b
       cross join lateral (
         select yes_price_ppm from market_hour where market_id = b.market_id order by hour desc limit 1
       ) h
       where b.status <> 'settled'
    ),
    held as (
      select p.trader_id,
             sum(div(p.shares_micro::numeric * case p.side when 'yes' then price.yes else price.no end, 1000000)
                 - p.cost_micro) as unrealized
        from price
        join position p on p.market_id = price.market_id
       group by p.trader_id
    ),
    result as (
      select a.trader_id, a.volume, a.trades, coalesce(s.positions, 0) as positions, coalesce(s.wins, 0) as wins,
             a.realized + coalesce(s.realized, 0) as realized, coalesce(h.unrealized, 0) as unrealized
        from active a
        left join settled s on s.trader_id = a.trader_id
        left join held h on h.trader_id = a.trader_id
    ),
    leader as (
      select *, count(*) over () as all_traders, sum(trades) over () as all_trades, sum(volume) over () as all_volume,
             sum(realized + unrealized) over () as all_pnl
        from result
       order by volume desc, trader_id collate "C"
       limit ${limit}
    ),
    -- Counted for the list alone: markets of all traders would have to be sorted, row by row of the period.
    breadth as (
      select trader_id, count(distinct market_id) as markets
        from trader_day
       where day >= ${startMs}
         and trader_id in (select trader_id from leader)
       group by trader_id
    )
    select l.trader_id, l.volume::text, l.trades::int4, b.markets::int4, l.positions::int4, l.wins::int4,
           l.realized::text, l.unrealized::text, l.all_traders::int4, l.all_trades::text, l.all_volume::text,
           l.all_pnl::text
      from leader l
      join breadth b on b.trader_id = l.trader_id
     order by l.volume desc, l.trader_id collate "C"`;
  const [first] = rows;
  return {
    traders: rows.map(toResult),
    totals: {
      traders: first?.all_traders ?? 0,
      trades: Number(first?.all_trades ?? 0),
      volumeMicro: BigInt(first?.all_volume ?? 0),
      totalPnlMicro: BigInt(first?.all_pnl ?? 0),
    },
  };
}
