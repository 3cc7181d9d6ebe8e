import { CAPITAL } from "../../domain/accounts.ts";
import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import { isOfKind, literal, ownerOf } from "../../ledger/account-sql.ts";
import type { ReadSql } from "../../postgres/connect.ts";

/** The entry after which journal rows are read; all of them unless given. */
export type Since = Pick<ChainPoint, "seq">;

/** The condition of the rows of a journal that are read. */
export const where = (sql: ReadSql, since: Since | undefined) =>
  since ? sql`where seq > ${String(since.seq)}::bigint` : sql``;

/**
 * `moved`: what transfers have moved into and out of each account.
 * Summed by pair of accounts first: far fewer rows then have to be split into their two legs.
 */
export function movedSums(sql: ReadSql, since?: Since) {
  return sql`
    pair as (
      select debit, credit, sum(amount_micro) as amount from transfer ${where(sql, since)} group by debit, credit
    ),
    moved as (
      select account, sum(leg.amount) as amount
        from pair
       cross join lateral (values (debit, -amount), (credit, amount)) as leg (account, amount)
       group by account
    )`;
}

/**
 * `traded`, `market_traded`, `hour_traded` and `day_traded`: what trades add up to, as positions, markets, hours and days
 * see it. The trades are read and grouped once, and the rest are sums of these groups.
 */
export function tradedSums(sql: ReadSql, since?: Since) {
  return sql`
    traded_hour as (
      select trader_id, market_id, side, ts - ts % 3600000 as hour,
             sum(shares_micro) as shares,
             sum(coalesce(-released_micro, amount_micro)) as cost,
             sum(amount_micro) as volume,
             sum(fee_micro) as fee,
             sum(case when released_micro is not null then amount_micro - fee_micro - released_micro else 0 end) as realized,
             count(*) as trades,
             max(seq) as last
        from trade
       ${where(sql, since)}
       group by 1, 2, 3, 4
    ),
    traded as (
      select trader_id, market_id, side, sum(shares) as shares, sum(cost) as cost
        from traded_hour
       group by 1, 2, 3
    ),
    market_traded as (
      select market_id,
             sum(volume) as volume,
             coalesce(sum(shares) filter (where side = 'yes'), 0) as yes_shares,
             coalesce(sum(shares) filter (where side = 'no'), 0) as no_shares
        from traded_hour
       group by market_id
    ),
    hour_traded as (
      select market_id, hour, sum(volume) as volume, sum(fee) as fee, max(last) as last from traded_hour group by 1, 2
    ),
    day_traded as (
      select hour - hour % 86400000 as day, trader_id, market_id,
             sum(volume) as volume, sum(trades) as trades, sum(realized) as realized
        from traded_hour
       group by 1, 2, 3
    )`;
}

/**
 * `funded`: money in and out by provider and day.
 * The day as text: a broken time must be a difference, and not the end of the statement.
 */
export function fundedSums(sql: ReadSql, since?: Since) {
  return sql`
    funded as (
      select left(a.ts, 10) as day, ${ownerOf(sql, "external", "leg.account")} as provider,
             sum(leg.inflow) as inflow, sum(leg.outflow) as outflow
        from transfer t
        left join audit a on a.seq = t.seq
       cross join lateral (values (t.debit, t.amount_micro, 0), (t.credit, 0, t.amount_micro))
             as leg (account, inflow, outflow)
       where ${since ? sql`t.seq > ${String(since.seq)}::bigint and` : sql``}
             (${isOfKind(sql, "external", "t.debit")} or ${isOfKind(sql, "external", "t.credit")})
         and ${isOfKind(sql, "external", "leg.account")} and leg.account <> ${literal(sql, CAPITAL)}
       group by 1, 2
    )`;
}
