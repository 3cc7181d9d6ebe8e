import { CAPITAL } from "../../domain/accounts.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/units.ts";
import { accountOf, isOfKind, literal, ownerOf } from "../../ledger/account-sql.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { traderDays as daysOfTraders, marketHours } from "../rollups.ts";
import { type CheckName, type Comparison, FIRST_PLACES } from "./checks.ts";

/** A unit of time as a literal, so that the sums of a million trades need no conversion. */
const unit = (sql: ReadSql, ms: number) => sql.unsafe(String(ms));

type PlaceRow = [place: string | null, stated: string | null, expected: string | null, difference: string];

/** Compares the sums that the database computes: the escrows, the reports by hour and day, and the end of the log. */
export async function compareSums(sql: ReadSql, into: Comparison): Promise<void> {
  const rows = await sql<
    { name: CheckName; stated: string; expected: string; difference: string; rows: string; places: string }[]
  >`
    with
    ${tradedSums(sql)},
    ${fundedSums(sql)},
    ${escrows(sql)},
    ${hours(sql)},
    ${traderDays(sql)},
    ${fundingDays(sql)},
    ${ends(sql)},
    checks as (
      select 'escrow' as name, place, stated, expected, difference from escrows
      union all select 'hours', place, stated, expected, difference from hours
      union all select 'traderDays', place, stated, expected, difference from trader_days
      union all select 'fundingDays', place, stated, expected, difference from funding_days
      union all select 'head', place, stated, expected, difference from ends
    ),
    ranked as (
      select *, case when difference <> 0 then
                  row_number() over (partition by name, difference <> 0 order by place) end as rank
        from checks
    )
    select name, coalesce(trunc(sum(stated)), 0)::text as stated, coalesce(trunc(sum(expected)), 0)::text as expected,
           count(*) filter (where difference <> 0)::text as rows, trunc(sum(difference))::text as difference,
           coalesce(
             jsonb_agg(jsonb_build_array(place, trunc(stated::numeric)::text, trunc(expected::numeric)::text,
                                         trunc(difference::numeric)::text)
                       order by rank) filter (where rank <= ${FIRST_PLACES}), '[]')::text as places
      from ranked
     group by name`;
  for (const { name, stated, expected, rows: count, difference, places } of rows) {
    const sums = { statedMicro: BigInt(stated), expectedMicro: BigInt(expected) };
    const found = (JSON.parse(places) as PlaceRow[]).map(([place, one, other, off]) => ({
      ...{ place: place ?? "", statedMicro: BigInt(one ?? 0), expectedMicro: BigInt(other ?? 0) },
      ...{ differenceMicro: BigInt(off), held: null, said: null },
    }));
    into.summed(name, { ...sums, differenceMicro: BigInt(difference), rows: Number(count), places: found });
  }
}

/**
 * `outstanding`, `hour_traded` and `day_traded`: sums of trades for escrows, hours and days. The trades are read and
 * grouped once, and the rest are sums of these groups.
 */
function tradedSums(sql: ReadSql) {
  return sql`
    traded_hour as (
      select trader_id, market_id, side, ts - ts % ${unit(sql, HOUR_MS)} as hour,
             sum(shares_micro) as shares,
             sum(amount_micro) as volume,
             sum(fee_micro) as fee,
             sum(case when released_micro is not null then amount_micro - fee_micro - released_micro else 0 end) as realized,
             count(*) as trades,
             max(seq) as last
        from trade
       group by 1, 2, 3, 4
    ),
    outstanding as (
      select market_id,
             coalesce(sum(shares) filter (where side = 'yes'), 0) as yes_shares,
             coalesce(sum(shares) filter (where side = 'no'), 0) as no_shares
        from traded_hour
       group by market_id
    ),
    hour_traded as (
      select market_id, hour, sum(volume) as volume, sum(fee) as fee, max(last) as last from traded_hour group by 1, 2
    ),
    day_traded as (
      select hour - hour % ${unit(sql, DAY_MS)} as day, trader_id, market_id,
             sum(volume) as volume, sum(trades) as trades, sum(realized) as realized
        from traded_hour
       group by 1, 2, 3
    )`;
}

/**
 * `funded`: money in and out by provider and day.
 * The day is a text, so that a broken time becomes a difference and does not fail the statement.
 */
function fundedSums(sql: ReadSql) {
  return sql`
    funded as (
      select left(a.ts, 10) as day, ${ownerOf(sql, "external", "leg.account")} as provider,
             sum(leg.inflow) as inflow, sum(leg.outflow) as outflow
        from transfer t
        left join audit a on a.seq = t.seq
       cross join lateral (values (t.debit, t.amount_micro, 0), (t.credit, 0, t.amount_micro))
             as leg (account, inflow, outflow)
       where (${isOfKind(sql, "external", "t.debit")} or ${isOfKind(sql, "external", "t.credit")})
         and ${isOfKind(sql, "external", "leg.account")} and leg.account <> ${literal(sql, CAPITAL)}
       group by 1, 2
    )`;
}

/**
 * Per market: escrow = YES outstanding = NO outstanding, traders' shares being those of `outstanding`; 0 once settled.
 * A market has a row in both of its tables and an escrow has a market: a missing row counts as a dollar.
 */
function escrows(sql: ReadSql) {
  return sql`
    escrows as (
      select coalesce(m.id, ${ownerOf(sql, "escrow", "a.id")}) as place, a.balance_micro as stated,
             case when m.status = 'settled' then 0 else m.yes_micro + coalesce(t.yes_shares, 0) end as expected,
             case when m.status = 'settled' then abs(coalesce(a.balance_micro, 0))
                  else abs(coalesce(a.balance_micro, 0) - coalesce(m.yes_micro + coalesce(t.yes_shares, 0), 0))
                     + abs(coalesce(a.balance_micro, 0) - coalesce(m.no_micro + coalesce(t.no_shares, 0), 0))
             end
           + case when m.is_whole then 0 else 1000000 end as difference
        from (
          select coalesce(m.id, b.market_id) as id, b.status, m.id = b.market_id as is_whole,
                 b.yes_micro + m.house_yes_micro as yes_micro, b.no_micro + m.house_no_micro as no_micro
            from market m
            full join book b on b.market_id = m.id
        ) m
        full join (select id, balance_micro from account where ${isOfKind(sql, "escrow", "id")}) a
          on a.id = ${accountOf(sql, "escrow", "m.id")}
        left join outstanding t on t.market_id = m.id
    )`;
}

/** Compares the hourly rows with the trades, prices in millionths: an hour ends at its last trade's price. */
function hours(sql: ReadSql) {
  return sql`
    hours as (
      select market_id || ' ' || hour as place, h.volume_micro + h.fee_micro as stated, t.volume + t.fee as expected,
             abs(coalesce(h.volume_micro, 0) - coalesce(t.volume, 0))
           + abs(coalesce(h.fee_micro, 0) - coalesce(t.fee, 0))
           + coalesce(greatest(abs(h.lowest - t.price), abs(h.highest - t.price)), 0) as difference
        from (
          select market_id, hour, sum(volume_micro) as volume_micro, sum(fee_micro) as fee_micro,
                 min(yes_price_ppm) as lowest, max(yes_price_ppm) as highest
            from ${marketHours(sql)} h
           group by 1, 2
        ) h
        full join (
          select *, (select yes_price_ppm from trade where seq = last) as price from hour_traded
        ) t using (market_id, hour)
    )`;
}

/** Compares the daily rows of traders and markets with the trades; a missing or surplus trade counts as a dollar. */
function traderDays(sql: ReadSql) {
  return sql`
    trader_days as (
      select trader_id || ' ' || market_id || ' ' || day as place,
             d.volume_micro + d.realized_micro as stated, t.volume + t.realized as expected,
             abs(coalesce(d.volume_micro, 0) - coalesce(t.volume, 0))
           + abs(coalesce(d.realized_micro, 0) - coalesce(t.realized, 0))
           + abs(coalesce(d.trades, 0) - coalesce(t.trades, 0)) * 1000000 as difference
        from (
          select day, trader_id, market_id,
                 sum(volume_micro) as volume_micro, sum(trades) as trades, sum(realized_micro) as realized_micro
            from ${daysOfTraders(sql)} d
           group by 1, 2, 3
        ) d
        full join day_traded t using (day, trader_id, market_id)
    )`;
}

/** Compares the daily rows of providers with the transfers. */
function fundingDays(sql: ReadSql) {
  return sql`
    funding_days as (
      select coalesce(d.provider, t.provider) || ' ' || coalesce(d.day, t.day) as place,
             d.inflow_micro + d.outflow_micro as stated, t.inflow + t.outflow as expected,
             abs(coalesce(d.inflow_micro, 0) - coalesce(t.inflow, 0))
           + abs(coalesce(d.outflow_micro, 0) - coalesce(t.outflow, 0)) as difference
        from (
          select to_char(to_timestamp(day / 1000) at time zone 'UTC', 'YYYY-MM-DD') as day, provider,
                 inflow_micro, outflow_micro
            from funding_day
        ) d
        full join funded t on t.day = d.day and t.provider = d.provider
    )`;
}

/** Compares the journal's end with the head row. */
function ends(sql: ReadSql) {
  return sql`
    ends as (
      select 'entry ' || h.seq as place, h.seq * 1000000 as stated, a.seq * 1000000 as expected,
             abs(h.seq - a.seq) * 1000000 as difference
        from head h, (select coalesce(max(seq), 0) as seq from audit) a
    )`;
}
