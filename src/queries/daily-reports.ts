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

/** The number of users who traded on each day since the beginning of a UTC day. */
export async function countActiveByDay(sql: ReadSql, startMs: number): Promise<ReadonlyMap<number, number>> {
  const rows = await sql<{ day: string; traders: number }[]>`
    select day::text as day, count(distinct trader_id)::int4 as traders
      from ${traderDays(sql)} d
     where day >= ${startMs}
     group by d.day`;
  return new Map(rows.map(({ day, traders }) => [Number(day), traders]));
}

/** The numbers of users who traded from a day until another one, and since. */
export async function countActiveAround(
  sql: ReadSql,
  startMs: number,
  middleMs: number,
): Promise<{ now: number; before: number }> {
  // One row per trader: the rows of a trader and a day are many times as many.
  const [row] = await sql<{ now: number; before: number }[]>`
    select (count(*) filter (where is_now))::int4 as now, (count(*) filter (where is_before))::int4 as before
      from (select max(day) >= ${middleMs} as is_now, min(day) < ${middleMs} as is_before
              from ${traderDays(sql)} d
             where day >= ${startMs}
             group by trader_id) as trader`;
  return row ?? { now: 0, before: 0 };
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
  const loss = (ppm: ReturnType<ReadSql>) => {
    const p = sql`(least(greatest(${ppm}, 1), 999999) / 1e6::float8)`;
    return sql`case kind
      when 'lmsr' then b * greatest(ln(${p} / p0), ln((1 - ${p}) / (1 - p0)), 0)
      else greatest(yes * (1 - sqrt(odds * (1 - ${p}) / ${p})), no * (1 - sqrt(${p} / (1 - ${p}) / odds)), 0) end`;
  };
  const rows = await sql<{ day: string; change: number }[]>`
    with
    live as materialized (
      -- Numbers are compared many times faster than ids.
      select row_number() over () as n, m.id, m.kind, o.p0, o.p0 / (1 - o.p0) as odds,
             m.fund_micro / greatest(-ln(o.p0), -ln(1 - o.p0)) as b,
             m.fund_micro * least(1, (1 - o.p0) / o.p0) as yes, m.fund_micro * least(1, o.p0 / (1 - o.p0)) as no,
             b.settled_at, b.settled_at / ${DAY_MS}::int8 as settled_day,
             case when b.hour < ${startMs} then b.yes_price_ppm
                  when m.created_at < ${startMs}
                  then (select h.yes_price_ppm
                          from market_hour h
                         where h.market_id = m.id and h.hour < ${startMs}
                         order by h.hour desc
                         limit 1) end as ppm
        from book b
        join market m on m.id = b.market_id
       cross join lateral (select m.p0_ppm / 1e6::float8 as p0) o
       where b.hour > 0 and (b.settled_at is null or b.settled_at >= ${startMs})
    ),
    levels as (
      select n, ${startMs}::int8 - 1 as at, ${loss(sql`ppm`)} as loss from live where ppm is not null
       union all
      select n, hour, ${loss(sql`yes_price_ppm`)}
        from ${marketHours(sql)} h
        join live on live.id = h.market_id
       where hour >= ${startMs} and (settled_day is null or hour / ${DAY_MS}::int8 < settled_day)
       union all
      select n, settled_at, 0 from live where settled_at is not null
    )
    select (at / ${DAY_MS}::int8 * ${DAY_MS}::int8)::text as day, sum(change) as change
      from (select at, loss - lag(loss, 1, 0::float8) over (partition by n order by at) as change from levels) moved
     group by 1`;
  return new Map(rows.map(({ day, change }) => [Number(day), change]));
}
