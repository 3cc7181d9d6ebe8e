import type { ReadSql } from "../postgres/connect.ts";
import { upToHead } from "./on-record.ts";

// A market's row never changes, so keys that files gave it after its creation are only in the audit log.

/** Exactly the condition of the partial index by key. */
export const isNaming = (sql: ReadSql) => sql`type in ('market.imported', 'market.moved')`;

/** The current key of the market in row `m`; null for none. */
export function keyOfMarket(sql: ReadSql) {
  return sql`
    coalesce(
      (select audit_json(named.payload) ->> 'key'
         -- By the market and not by the head's number, however many entries follow.
         from (select seq, payload
                 from audit
                where ${isNaming(sql)} and audit_json(payload) ->> 'marketId' = m.id
               offset 0) named
        where ${upToHead(sql)}
        order by named.seq desc
        limit 1),
      m.file_key)`;
}

/** The id of the market that has or had a key, as an array of at most one id, so that `= any(…)` probes an index. */
export function marketsWithKey(sql: ReadSql, key: ReturnType<ReadSql>) {
  return sql`
    array(
      select id from market where file_key = ${key}
       union
      select audit_json(payload) ->> 'marketId'
        from audit
       where ${isNaming(sql)} and audit_json(payload) ->> 'key' = ${key} and ${upToHead(sql)}
    )`;
}
