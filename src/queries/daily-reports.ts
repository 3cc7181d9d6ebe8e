import { DAY_MS } from "../domain/time/units.ts";
import { bigint, integer, named, rowReader, whole } from "../ledger/codec.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { marketEnds } from "./reports.ts";
import { marketHours, traderDays } from "./rollups.ts";

const toDay = rowReader({
  /** When the UTC day begins, in milliseconds since 1970. */
  day: whole(),
  volumeMicro: named("volume", bigint()),
  feeMicro: named("fees", bigint()),
  spreadMicro: named("spread", bigint()),
  settledMarkets: named("settled", integer()),
});
export type DayRow = ReturnType<typeof toDay>;

/** Volume, fees and market-making result of each day since the beginning of a UTC day; days without any have no row. */
export async function listDayResults(sql: ReadSql, startMs: number): Promise<DayRow[]> {
  const rows = await sql`
    with results as (
      select hour / ${DAY_MS}::int8 as day, volume_micro as volume, fee_micro as fees, 0::int8 as spread, 0 as settled
        from ${marketHours(sql)} h
       where hour >= ${startMs}
       union all
      select settled_at / ${DAY_MS}::int8, 0, fees, spread, 1 from ${marketEnds(sql, startMs)} ended
    )
    select day * ${DAY_MS}::int8 as day, sum(volume)::text as volume, sum(fees)::text as fees,
           sum(spread)::text as spread, sum(settled)::int4 as settled
      from results
     group by results.day`;
  return rows.map(toDay);
}

/** Numbers of traders who traded. */
export interface ActiveTraders {
  byDay: ReadonlyMap<number, number>;
  /** Since the middle. */
  now: number;
  before: number;
}

/** Counts the traders of each day since the beginning of a UTC day, and of the times before and since a later one. */
export async function countActiveByDay(sql: ReadSql, startMs: number, middleMs: number): Promise<ActiveTraders> {
  const [row] = await sql<{ days: Record<string, number>; now: number; before: number }[]>`
    with
    active as (select day, trader_id from ${traderDays(sql)} d where day >= ${startMs} group by day, trader_id),
    traders as (
      select max(day) >= ${middleMs} as is_now, min(day) < ${middleMs} as is_before from active group by trader_id
    )
    select (select coalesce(json_object_agg(day, traders), '{}')
              from (select day, count(*)::int4 as traders from active group by day) as each) as days,
           (select count(*)::int4 from traders where is_now) as now,
           (select count(*)::int4 from traders where is_before) as before`;
  const { days = {}, now = 0, before = 0 } = row ?? {};
  return { byDay: new Map(Object.entries(days).map(([day, traders]) => [Number(day), traders])), now, before };
}

/**
 * How the most that the house can lose in all changed on each day since the beginning of a UTC day, in micro-dollars;
 * the day before it has the sum until then.
 *
 * A trade moves only the price, and the loss follows from it: the reserve of a side that the pool has given away since
 * the opening. With lmsr a reserve is -b·ln P, with cpmm it is the opening's times the square root of the odds'
 * quotient. So the last price of each day is enough, and no trade is read.
 */
export async function listExposureChanges(sql: ReadSql, startMs: number): Promise<ReadonlyMap<number, number>> {
  const rows = await sql<{ day: string; change: number }[]>`
    with
    live as (
      select m.id, m.kind, m.fund_micro::float8 as fund, m.p0_ppm / 1e6::float8 as p0,
             b.settled_at / ${DAY_MS}::int8 as settled_day, b.hour, b.yes_price_ppm
        from book b
        join market m on m.id = b.market_id
       where b.hour > 0 and (b.settled_at is null or b.settled_at >= ${startMs})
    ),
    priced as (
      select id, ${startMs}::int8 / ${DAY_MS}::int8 - 1 as day,
             case when hour < ${startMs} then yes_price_ppm
                  else (select h.yes_price_ppm
                          from market_hour h
                         where h.market_id = live.id and h.hour < ${startMs}
                         order by h.hour desc
                         limit 1) end as ppm
        from live
       union all
      (select distinct on (market_id, day) market_id, day, yes_price_ppm
         from (select market_id, hour, hour / ${DAY_MS}::int8 as day, yes_price_ppm
                 from ${marketHours(sql)} h
                where hour >= ${startMs}) as traded
        order by market_id, day, hour desc)
    ),
    odds as (
      select l.id, p.day, l.kind, l.fund, l.p0, least(greatest(p.ppm, 1), 999999) / 1e6::float8 as p
        from priced p
        join live l on l.id = p.id
       where p.ppm is not null and (l.settled_day is null or p.day < l.settled_day)
    ),
    levels as (
      select id, day,
             case kind
               when 'lmsr' then fund / greatest(-ln(p0), -ln(1 - p0)) * greatest(ln(p / p0), ln((1 - p) / (1 - p0)), 0)
               else fund * greatest(least(1, (1 - p0) / p0) * (1 - sqrt(p0 / (1 - p0) * (1 - p) / p)),
                                    least(1, p0 / (1 - p0)) * (1 - sqrt((1 - p0) / p0 * p / (1 - p))), 0)
             end as loss
        from odds
       union all
      select id, settled_day, 0 from live where settled_day is not null
    )
    select (day * ${DAY_MS}::int8)::text as day, sum(change) as change
      from (select day, loss - lag(loss, 1, 0::float8) over (partition by id order by day) as change from levels) moved
     group by day`;
  return new Map(rows.map(({ day, change }) => [Number(day), change]));
}
