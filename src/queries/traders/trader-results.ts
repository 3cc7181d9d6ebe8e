import { DAY_MS } from "../../domain/time/units.ts";
import { bigint, integer, named, rowReader, text } from "../../ledger/codec.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";

const toResult = rowReader({
  traderId: text(),
  volumeMicro: named("volume", bigint()),
  trades: integer(),
  /**
   * Positions in markets settled within the period without those voided, and how many of them won: on the winning side,
   * or paid more than they cost by a fraction.
   */
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
 * @param traderId only this trader, whose positions and days are found by their keys
 */
export async function listTraderResults(
  sql: ReadSql,
  startMs: number,
  limit: number,
  traderId?: string,
): Promise<{ traders: TraderResult[]; totals: TraderTotals }> {
  const start = sql`${startMs}::bigint`;
  const isRecent = sql`p.day >= ${start}`;
  const isAlone = traderId !== undefined;
  const earlierDays = isAlone
    ? sql`(select d.* from generate_series(${start}, ${nowMs(sql)}, ${String(DAY_MS)}::bigint) as at
            cross join lateral (select * from trader_day where day = at and trader_id = ${traderId} offset 0) d) d`
    : sql`trader_day`;
  // Whole shares and the rest apart, because their product with the price may exceed a bigint. A void has no price, and
  // pays the cost back.
  const worth = sql`shares_micro / 1000000 * ppm + shares_micro % 1000000 * ppm / 1000000`;
  const gain = sql`coalesce(${worth} - cost_micro, 0)`;
  const rows = await sql`
    with
    -- Markets with a position that counts: where one was traded within the period, the market was.
    counted as (
      select market_id, status <> 'settled' as is_open, coalesce(settled_at >= ${start}, false) as is_settled,
             case
               when outcome is null then yes_price_ppm
               when outcome = 'yes' then 1000000
               when outcome = 'no' then 0
               when outcome <> 'void' then (outcome::numeric * 1000000)::int4
             end as yes_ppm, outcome = 'void' as is_void
        from book
       where status <> 'settled' or settled_at >= ${start} or hour >= ${start}
    ),
    held as (
      select p.trader_id, p.shares_micro, p.cost_micro, p.day, p.day_volume_micro, p.day_trades, p.day_realized_micro,
             c.is_open, c.is_settled, coalesce(c.is_void, false) as is_void, case p.side when 'yes' then c.yes_ppm else 1000000 - c.yes_ppm end as ppm
        from counted c
        join position p on p.market_id = c.market_id
       ${isAlone ? sql`where p.trader_id = ${traderId}` : sql``}
    ),
    running as (
      select trader_id,
             coalesce(sum(day_volume_micro) filter (where ${isRecent}), 0) as volume,
             coalesce(sum(day_trades) filter (where ${isRecent}), 0) as trades,
             coalesce(sum(day_realized_micro) filter (where ${isRecent}), 0)
               + coalesce(sum(${gain}) filter (where is_settled), 0) as realized,
             count(*) filter (where is_settled and not is_void and shares_micro > 0) as positions,
             count(*) filter (where is_settled and shares_micro > 0 and (ppm = 1000000 or ppm > 0 and ${worth} > cost_micro)) as wins,
             coalesce(sum(${gain}) filter (where is_open), 0) as unrealized
        from held p
       group by trader_id
    ),
    earlier as (
      select trader_id, sum(volume_micro) as volume, sum(trades) as trades, sum(realized_micro) as realized
        from ${earlierDays}
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
