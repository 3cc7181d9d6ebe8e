import { accountOf, isOfKind, ownerOf } from "../../ledger/account-sql.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { traderDays as daysOfTraders, marketHours } from "../rollups.ts";
import { hedges, trades } from "./reconcile-entries.ts";
import { standingChecks } from "./reconcile-standing.ts";
import { statedChecks } from "./reconcile-stated.ts";
import { fundedSums, movedSums, tradedSums } from "./reconcile-sums.ts";

/**
 * The rows `(name, place, stated, expected, difference, held, said)` of every check of journals, as common table
 * expressions. The last two are words, of checks that compare no amounts.
 * @param last about where the log ends, by which the work on its entries is divided
 */
export function ledgerChecks(sql: ReadSql, last: bigint) {
  return sql`
    with
    ${movedSums(sql)},
    ${tradedSums(sql)},
    ${fundedSums(sql)},
    outstanding as (
      select market_id, yes_shares, no_shares from market_traded
    ),
    ${accounts(sql)},
    ${escrows(sql)},
    ${positions(sql)},
    ${trades(sql, { last })},
    ${hedges(sql)},
    ${withdrawals(sql)},
    ${volumes(sql)},
    ${hours(sql)},
    ${traderDays(sql)},
    ${fundingDays(sql)},
    ${ends(sql)},
    checks as (
      select 'accounts' as name, place, stated, expected, difference, null::text as held, null::text as said from accounts
      union all select 'escrow', place, stated, expected, difference, null, null from escrows
      union all select 'positions', place, stated, expected, difference, null, null from positions
      union all select 'trades', place, stated, expected, difference, null, null from trades
      union all
      select 'trades', null, agreed, agreed, 0, null, null
        from (select (select sum(volume) from market_traded) - coalesce((select sum(stated) from trades), 0)) as rest (agreed)
      union all select 'hedges', place, stated, expected, difference, null, null from hedges
      union all select 'withdrawals', place, stated, expected, difference, null, null from withdrawals
      union all select 'volume', place, stated, expected, difference, null, null from volumes
      union all select 'hours', place, stated, expected, difference, null, null from hours
      union all select 'traderDays', place, stated, expected, difference, null, null from trader_days
      union all select 'fundingDays', place, stated, expected, difference, null, null from funding_days
      union all select 'head', place, stated, expected, difference, null, null from ends
    )`;
}

/**
 * The same rows of every check of a table that no journal adds up to. In a statement of their own: they read JSON, which
 * PostgreSQL does in one process alone, and would keep the others there too.
 */
export function standingRows(sql: ReadSql) {
  return sql`
    with
    ${standingChecks(sql)},
    ${statedChecks(sql)},
    checks as (
      select name, place, case when held is null then 0 else 1000000 end as stated,
             case when said is null then 0 else 1000000 end as expected, difference, held, said
        from (select * from standing union all select * from stated) each
    )`;
}

/** Balances against the transfers that touched them. */
function accounts(sql: ReadSql) {
  return sql`
    accounts as (
      select coalesce(a.id, m.account) as place, a.balance_micro as stated, m.amount as expected,
             abs(coalesce(a.balance_micro, 0) - coalesce(m.amount, 0)) as difference
        from account a
        full join moved m on m.account = a.id
    )`;
}

/**
 * Per market: escrow = YES outstanding = NO outstanding, traders' shares being those of `outstanding`; 0 once settled. A
 * market has a row in both of its tables and an escrow has a market: what is missing counts as a dollar.
 */
export function escrows(sql: ReadSql) {
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

/** Shares and cost against the trades; a sell takes away its shares and the cost that it released. */
function positions(sql: ReadSql) {
  return sql`
    positions as (
      select trader_id || ' ' || market_id || ' ' || side as place,
             p.shares_micro + p.cost_micro as stated, t.shares + t.cost as expected,
             abs(coalesce(p.shares_micro, 0) - coalesce(t.shares, 0))
           + abs(coalesce(p.cost_micro, 0) - coalesce(t.cost, 0)) as difference
        from position p
        full join traded t using (trader_id, market_id, side)
    )`;
}

/** Per user: what is pending against the account that holds it. */
export function withdrawals(sql: ReadSql) {
  return sql`
    withdrawals as (
      select id as place, a.balance_micro as stated, w.amount as expected,
             abs(coalesce(a.balance_micro, 0) - coalesce(w.amount, 0)) as difference
        from (select id, balance_micro from account where ${isOfKind(sql, "pending", "id")}) a
        full join (
          select ${accountOf(sql, "pending", "trader_id")} as id, sum(amount_micro) as amount
            from withdrawal
           where status = 'pending'
           group by trader_id
        ) w using (id)
    )`;
}

/** Per market: its state against the trades. */
function volumes(sql: ReadSql) {
  return sql`
    volumes as (
      select b.market_id as place, b.volume_micro as stated, t.volume as expected,
             abs(b.volume_micro - coalesce(t.volume, 0)) as difference
        from book b
        left join market_traded t on t.market_id = b.market_id
    )`;
}

/** What reports and history read by market and hour, against the trades, prices in millionths: an hour ends at its last trade's. */
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

/** What reports read by trader, market and day, against the trades; a trade too few or too many counts as a dollar. */
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

/** What reports read by provider and day, against the transfers. */
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

/** The journal's end against the head row. */
export function ends(sql: ReadSql) {
  return sql`
    ends as (
      select 'entry ' || h.seq as place, h.seq * 1000000 as stated, a.seq * 1000000 as expected,
             abs(h.seq - a.seq) * 1000000 as difference
        from head h, (select coalesce(max(seq), 0) as seq from audit) a
    )`;
}
