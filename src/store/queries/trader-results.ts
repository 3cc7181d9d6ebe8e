import type { Sql } from "../connect.ts";
import { periodStart } from "./reports.ts";

export interface TraderResult {
  traderId: string;
  volumeMicro: bigint;
  trades: number;
  markets: number;
  /** Positions in markets settled within the period, and how many of them were on the winning side. */
  settledPositions: number;
  wins: number;
  realizedMicro: bigint;
  unrealizedMicro: bigint;
}

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
  sql: Sql,
  periodDays: number,
  limit: number,
): Promise<{ traders: TraderResult[]; totals: TraderTotals }> {
  const start = periodStart(sql, periodDays);
  const rows = await sql`
    with
    active as (
      select trader_id, sum(volume_micro) as volume, sum(trades) as trades, count(distinct market_id) as markets,
             sum(realized_micro) as realized
        from trader_day
       where day >= ${start}
       group by trader_id
    ),
    settled as (
      select p.trader_id,
             count(*) filter (where p.shares_micro > 0) as positions,
             count(*) filter (where p.shares_micro > 0 and p.side = b.outcome) as wins,
             sum(case when p.side = b.outcome then p.shares_micro else 0 end - p.cost_micro) as realized
        from book b
        join position p on p.market_id = b.market_id
       where b.settled_at >= ${start}
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
      select a.trader_id, a.volume, a.trades, a.markets, coalesce(s.positions, 0) as positions,
             coalesce(s.wins, 0) as wins, a.realized + coalesce(s.realized, 0) as realized,
             coalesce(h.unrealized, 0) as unrealized
        from active a
        left join settled s on s.trader_id = a.trader_id
        left join held h on h.trader_id = a.trader_id
    )
    select trader_id, volume::text, trades::int, markets::int, positions::int, wins::int, realized::text,
           unrealized::text, (count(*) over ())::int as all_traders, (sum(trades) over ())::text as all_trades,
           (sum(volume) over ())::text as all_volume, (sum(realized + unrealized) over ())::text as all_pnl
      from result
     order by result.volume desc, trader_id collate "C"
     limit ${limit}`;
  const [first] = rows;
  return {
    traders: rows.map((row) => ({
      traderId: row.trader_id,
      volumeMicro: BigInt(row.volume),
      trades: row.trades,
      markets: row.markets,
      settledPositions: row.positions,
      wins: row.wins,
      realizedMicro: BigInt(row.realized),
      unrealizedMicro: BigInt(row.unrealized),
    })),
    totals: {
      traders: first?.all_traders ?? 0,
      trades: Number(first?.all_trades ?? 0),
      volumeMicro: BigInt(first?.all_volume ?? 0),
      totalPnlMicro: BigInt(first?.all_pnl ?? 0),
    },
  };
}
