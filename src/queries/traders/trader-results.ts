import { bigint, integer, named, rowReader, text } from "../../ledger/codec.ts";
import type { ReadSql } from "../../postgres/connect.ts";

const toResult = rowReader({
  traderId: text(),
  volumeMicro: named("volume", bigint()),
  trades: integer(),
  /** Positions in markets settled within the period, and how many of them were on the winning side. */
  settledPositions: named("positions", integer()),
  wins: integer(),
  realizedMicro: named("realized", bigint()),
  unrealizedMicro: named("unrealized", bigint()),
});
export type TraderResult = ReturnType<typeof toResult>;

/** Sums over all traders of the period, including those beyond the list. */
export interface TraderTotals {
  traders: number;
  trades: number;
  volumeMicro: bigint;
  totalPnlMicro: bigint;
}

/**
 * Traders of the period by volume, with the result of their sales and settlements within it, and of their present
 * holdings. One statement, so that every position counts as either settled or open. One pass over the positions: their
 * day's sums, their value at settlement, and their value now at the market's last price, to which `trade.executed` has
 * rounded it.
 */
export async function listTraderResults(
  sql: ReadSql,
  startMs: number,
  limit: number,
): Promise<{ traders: TraderResult[]; totals: TraderTotals }> {
  const start = sql`${startMs}::bigint`;
  const isRecent = sql`p.day >= ${start}`;
  // Whole shares and the rest apart, because their product with the price may exceed a bigint.
  const gain = sql`shares_micro / 1000000 * ppm + shares_micro % 1000000 * ppm / 1000000 - cost_micro`;
  const rows = await sql`
    with
    -- Markets with a position that counts: where one was traded within the period, the market was. A share of a settled
    -- one is worth a dollar or nothing.
    counted as (
      select market_id, status <> 'settled' as is_open, coalesce(settled_at >= ${start}, false) as is_settled,
             case outcome when 'yes' then 1000000 when 'no' then 0 else yes_price_ppm end as yes_ppm
        from book
       where status <> 'settled' or settled_at >= ${start} or hour >= ${start}
    ),
    held as (
      select p.trader_id, p.shares_micro, p.cost_micro, p.day, p.day_volume_micro, p.day_trades, p.day_realized_micro,
             c.is_open, c.is_settled, case p.side when 'yes' then c.yes_ppm else 1000000 - c.yes_ppm end as ppm
        from counted c
        join position p on p.market_id = c.market_id
    ),
    running as (
      select trader_id,
             coalesce(sum(day_volume_micro) filter (where ${isRecent}), 0) as volume,
             coalesce(sum(day_trades) filter (where ${isRecent}), 0) as trades,
             coalesce(sum(day_realized_micro) filter (where ${isRecent}), 0)
               + coalesce(sum(${gain}) filter (where is_settled), 0) as realized,
             count(*) filter (where is_settled and shares_micro > 0) as positions,
             count(*) filter (where is_settled and shares_micro > 0 and ppm = 1000000) as wins,
             coalesce(sum(${gain}) filter (where is_open), 0) as unrealized
        from held p
       group by trader_id
    ),
    earlier as (
      select trader_id, sum(volume_micro) as volume, sum(trades) as trades, sum(realized_micro) as realized
        from trader_day
       where day >= ${start}
       group by trader_id
    ),
    result as (
      select r.trader_id, r.volume + coalesce(e.volume, 0) as volume, r.trades + coalesce(e.trades, 0) as trades,
             r.positions, r.wins, r.realized + coalesce(e.realized, 0) as realized, r.unrealized
        from running r
        left join earlier e on e.trader_id = r.trader_id
       where r.trades > 0 or e.trades > 0
    ),
    leader as (
      select *, count(*) over () as all_traders, sum(trades) over () as all_trades, sum(volume) over () as all_volume,
             sum(realized + unrealized) over () as all_pnl
        from result
       order by volume desc, trader_id collate "C"
       limit ${limit}
    )
    select l.trader_id, l.volume::text, l.trades::int4, l.positions::int4, l.wins::int4, l.realized::text,
           l.unrealized::text, l.all_traders::int4, l.all_trades::text, l.all_volume::text, l.all_pnl::text
      from leader l
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
