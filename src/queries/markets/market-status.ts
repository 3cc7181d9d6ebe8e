import type { StatusFilter } from "../../domain/market/status-filter.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";
import { isHeld } from "../oracle.ts";

/**
 * A condition on a market `m` and its state `b`: whether the market is in one of the filter's states by the database's
 * clock. A filter without settled markets repeats the condition of the index of unsettled markets.
 */
export function hasStatus(sql: ReadSql, { statuses, waiting }: StatusFilter) {
  const ahead = sql`m.close_at > ${nowMs(sql)}`;
  const unsettled = sql`b.status <> 'settled'`;
  const isEach = {
    open: sql`b.status = 'open' and ${ahead}`,
    suspended: sql`b.status = 'suspended' and ${ahead}`,
    closed: sql`${unsettled} and m.close_at <= ${nowMs(sql)}`,
    settled: sql`b.status = 'settled'`,
  };
  const asked = [...statuses].map((status) => isEach[status]);
  if (waiting) asked.push(isWaiting(sql));
  // A single condition stays outside of an `or`, in which PostgreSQL would check the `in` for every market.
  const [first = sql`false`, ...others] = asked;
  const isAsked = others.reduce((any, each) => sql`${any} or (${each})`, sql`(${first})`);
  if (statuses.has("settled")) return sql`(${isAsked})`;
  const isAnyUnsettled = statuses.has("open") && statuses.has("suspended") && statuses.has("closed");
  return isAnyUnsettled ? unsettled : sql`${unsettled} and (${isAsked})`;
}

/**
 * Reads only markets that are held or past their closing time, from indexes. Most of the latter were settled long ago:
 * they are left out before the market itself is looked up.
 */
function isWaiting(sql: ReadSql) {
  return sql`m.id in (select w.market_id from oracle_watch w where ${isHeld(sql)}
                       union all
                      select past.id
                        from market past
                        join book unsettled on unsettled.market_id = past.id and unsettled.status <> 'settled'
                       where past.close_at <= ${nowMs(sql)})
             and ${waitingFor(sql)} is not null`;
}

/**
 * What a market `m` with state `b` waits for a person to do. Null when the market is settled, when its time has not
 * come, and when an oracle will settle it. Oracles skip suspended markets, and `resolution_url` is asked about all
 * others.
 */
export function waitingFor(sql: ReadSql) {
  return sql`case
    when b.status = 'settled' then null
    when exists (select 1 from oracle_watch w where w.market_id = m.id and ${isHeld(sql)}) then 'oracle'
    when m.close_at > ${nowMs(sql)} then null
    when b.status = 'suspended' then 'settlement'
    when exists (select 1 from tenant where policy::jsonb ->> 'resolution_url' is not null) then null
    when exists (select 1 from oracle_watch w where w.market_id = m.id and w.parsed and not w.settled) then null
    else 'settlement'
  end`;
}
