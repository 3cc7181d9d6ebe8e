import type { LedgerMark } from "../../domain/audit/ledger-checkpoint.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/units.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { marketHours, traderDays } from "../rollups.ts";
import { ends, escrows, withdrawals } from "./reconcile-checks.ts";
import { hedges, trades } from "./reconcile-entries.ts";
import { standingChecks } from "./reconcile-standing.ts";
import { fundedSums, movedSums, tradedSums } from "./reconcile-sums.ts";

/** What was found about the time after a mark, and about balances as they are now. */
export interface FoundSince {
  /** Whether new rows agree with their entries, and balances with each other. */
  agrees: boolean;
  /**
   * Hex SHA-256 of what the tables held at the mark: what they hold now, less what newer journal rows add. It is the
   * same at any later time, unless a row was changed otherwise.
   */
  digest: string;
}

/**
 * The part of reconciliation that does not grow with the history: journal rows after the mark are read, and all balances.
 * In the tables that sum up journals every row of today counts; of reports by hour and day only those from the mark's
 * own hour and day on, since later commits change no earlier ones.
 */
export async function reconcileSince(sql: ReadSql, mark: LedgerMark): Promise<FoundSince> {
  // Of the time since the mark there are few rows, unlike in the comparisons that sessions of checks are set for.
  await sql`set local enable_hashjoin = on`;
  const hour = String(mark.ts - (mark.ts % HOUR_MS));
  const day = String(mark.ts - (mark.ts % DAY_MS));
  const [row] = await sql<{ agrees: boolean; digest: string }[]>`
    with
    ${movedSums(sql, mark)},
    ${tradedSums(sql, mark)},
    ${fundedSums(sql, mark)},
    outstanding as (
      select market_id,
             coalesce(sum(shares_micro) filter (where side = 'yes'), 0) as yes_shares,
             coalesce(sum(shares_micro) filter (where side = 'no'), 0) as no_shares
        from position
       group by market_id
    ),
    ${escrows(sql)},
    ${trades(sql, { since: mark })},
    ${hedges(sql, mark)},
    ${withdrawals(sql)},
    ${ends(sql)},
    ${standingChecks(sql, mark)},
    off as (
      select 1 from escrows where difference <> 0
      union all select 1 from trades where difference <> 0
      union all select 1 from hedges where difference <> 0
      union all select 1 from withdrawals where difference <> 0
      union all select 1 from ends where difference <> 0
      union all select 1 from standing where difference <> 0
    ),
    ${held(sql, {
      as: "account_held",
      rows: sql`select id, balance_micro from account`,
      news: sql`select account, amount from moved`,
      key: ["id"],
      figures: ["balance"],
    })},
    ${held(sql, {
      as: "position_held",
      rows: sql`select trader_id, market_id, side, shares_micro, cost_micro from position`,
      news: sql`select trader_id, market_id, side, shares, cost from traded`,
      key: ["trader_id", "market_id", "side"],
      figures: ["shares", "cost"],
    })},
    ${held(sql, {
      as: "volume_held",
      rows: sql`select market_id, volume_micro from book`,
      news: sql`select market_id, volume from market_traded`,
      key: ["market_id"],
      figures: ["volume"],
    })},
    ${held(sql, {
      as: "hour_held",
      rows: sql`
        select market_id, hour, sum(volume_micro), sum(fee_micro)
          from ${marketHours(sql)} h
         where hour >= ${hour}::bigint
         group by 1, 2`,
      news: sql`select market_id, hour, volume, fee from hour_traded`,
      key: ["market_id", "hour"],
      figures: ["volume", "fee"],
    })},
    ${held(sql, {
      as: "day_held",
      rows: sql`
        select day, trader_id, market_id, sum(volume_micro), sum(realized_micro), sum(trades)
          from ${traderDays(sql)} d
         where day >= ${day}::bigint
         group by 1, 2, 3`,
      news: sql`select day, trader_id, market_id, volume, realized, trades from day_traded`,
      key: ["day", "trader_id", "market_id"],
      figures: ["volume", "realized", "trades"],
    })},
    ${held(sql, {
      as: "funding_held",
      rows: sql`
        select to_char(to_timestamp(day / 1000) at time zone 'UTC', 'YYYY-MM-DD'), provider, inflow_micro, outflow_micro
          from funding_day
         where day >= ${day}::bigint`,
      news: sql`select day, provider, inflow, outflow from funded`,
      key: ["day", "provider"],
      figures: ["inflow", "outflow"],
    })}
    select not exists (select from off) as agrees,
           encode(sha256(convert_to(concat_ws(E'\\n',
             (select said from account_held), (select said from position_held), (select said from volume_held),
             (select said from hour_held), (select said from day_held), (select said from funding_held)), 'UTF8')), 'hex')
             as digest`;
  return { agrees: row?.agrees === true, digest: row?.digest ?? "" };
}

type Fragment = ReturnType<ReadSql>;

interface Held {
  /** The name of the common table expression. */
  as: string;
  /** The table's rows now, and what newer journal rows add to them: the key's columns, then the figures. */
  rows: Fragment;
  news: Fragment;
  key: readonly string[];
  figures: readonly string[];
}

/**
 * `said`: one text for what a table held at the mark. Every row that was not zero then is a line; news for rows that are
 * not there are counted. The lines stand in the order of a hash of their own, since sorting numbers costs a third of
 * sorting names, and are digested in portions, so that no text grows beyond what PostgreSQL holds. What protects them is
 * the SHA-256.
 */
function held(sql: ReadSql, { as, rows, news, key, figures }: Held) {
  const names = (list: readonly string[], table = "") => list.map((name) => table + name).join(", ");
  const isNew = `n.${key[0]} is not null`;
  // Most rows have no news, and keep the type in which no arithmetic is done.
  const figure = (name: string) => `case when ${isNew} then (r.${name} - n.${name})::text else r.${name}::text end`;
  const isZero = figures.map((name) => `r.${name} = coalesce(n.${name}, 0)`).join(" and ");
  const line = [...key.map((name) => `r.${name}`), ...figures.map(figure)].join(" || E'\\t' || ");
  const columns = sql.unsafe(names([...key, ...figures]));
  const name = sql.unsafe(as);
  return sql`
    ${name}_news (${columns}) as materialized (${news}),
    ${name}_line as (
      select line, hashtextextended(line, 0) as place, is_new
        from (
          select case when not (${sql.unsafe(isZero)}) then ${sql.unsafe(line)} end as line, ${sql.unsafe(isNew)} as is_new
            from (${rows}) r (${columns})
            left join ${name}_news n using (${sql.unsafe(names(key))})
          offset 0
        ) each
    ),
    ${name} as (
      select concat((select count(*) from ${name}_news) - coalesce(sum(news), 0), ' ', string_agg(digest, ' ' order by portion)) as said
        from (
          select place >> 56 as portion, count(*) filter (where is_new) as news,
                 encode(sha256(convert_to(string_agg(line, E'\\n'), 'UTF8')), 'hex') as digest
            from (select * from ${name}_line order by place, line) each
           group by 1
        ) portions
    )`;
}
