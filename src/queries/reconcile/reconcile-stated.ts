import { DAY_MS } from "../../domain/time/units.ts";
import { isoOf, upToHead } from "../../ledger/on-record.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { UNREADABLE } from "./reconcile-standing.ts";

const usd = (sql: ReadSql, column: string) => sql.unsafe(`trim_scale(${column} * 0.000001)::text`);

/**
 * The instant of a row as its entry states it. An entry's time never steps back, so where clocks were set back it is later than
 * the instant by which its command was decided; more than a day later is a difference. Compared as texts, because the time
 * of a tampered entry may be none.
 */
const statedAt = (sql: ReadSql, column: string, ts: string) =>
  sql`case when ${sql.unsafe(ts)} collate "C" between ${isoOf(sql, column)} and ${isoOf(sql, `(${column} + ${DAY_MS})`)}
           then ${isoOf(sql, column)} else ${sql.unsafe(ts)} end`;

/**
 * `stated`: what the log states once of markets and withdrawals and no journal adds up to, in the form of the checks of
 * standing. There is a row for each market and each withdrawal, so these are compared whole.
 */
export function statedChecks(sql: ReadSql) {
  return sql`
    stated_entry as materialized (
      select *
        from (
          select seq, type, ts,
                 -- A lone surrogate is legal in JSON and in no text of PostgreSQL, so rows hold U+FFFD.
                 audit_json(case when position('\\ud' in payload) = 0 then payload
                                 else regexp_replace(payload, '(?<!\\\\)\\\\ud[89a-f][0-9a-f]{2}', ${"\ufffd"}, 'g') end) as entry
            from audit
           where type in ('market.created', 'market.settled',
                          'withdrawal.requested', 'withdrawal.approved', 'withdrawal.rejected')
             and type <> 'trade.executed'
          offset 0
        ) each
       where ${upToHead(sql)}
    ),
    ${markets(sql)},
    ${settlements(sql)},
    ${decisions(sql)},
    stated as (
      select name, place, held, said, case when held is not distinct from said then 0 else 1000000 end as difference
        from (
          select 'markets' as name, * from market_compared
          union all select 'settlements', * from settlement_compared
          union all select 'decisions', * from decision_compared
          union all
          select case when type = 'market.created' then 'markets' when type = 'market.settled' then 'settlements'
                      else 'decisions' end,
                 'entry ' || seq, null, ${UNREADABLE}
            from stated_entry
           where coalesce(entry ->> 'marketId', entry ->> 'withdrawalId') is null
        ) each
    )`;
}

/** Each market with the kind and the funds that it was created with. */
function markets(sql: ReadSql) {
  return sql`
    market_compared as (
      select coalesce(m.id, s.id) as place, m.kind || ' with ' || ${usd(sql, "m.fund_micro")} as held, s.said
        from market m
        full join (
          select entry ->> 'marketId' as id, concat(entry ->> 'kind', ' with ', entry ->> 'liquidity') as said
            from stated_entry
           where type = 'market.created' and entry ->> 'marketId' is not null
        ) s on s.id = m.id
    )`;
}

/** Each market's outcome with its time; a state that names one of both alone agrees with no entry. */
function settlements(sql: ReadSql) {
  return sql`
    settlement_compared as (
      select coalesce(b.market_id, s.id) as place,
             case when b.status = 'settled' or b.outcome is not null or b.settled_at is not null
                  then concat(b.status, ' ', b.outcome, ' at ', ${isoOf(sql, "b.settled_at")})
                  when b.market_id is not null then 'not settled' end as held,
             case when s.id is null then 'not settled'
                  else concat('settled ', s.outcome, ' at ', ${statedAt(sql, "b.settled_at", "s.ts")}) end as said
        from book b
        full join (
          select entry ->> 'marketId' as id, entry ->> 'outcome' as outcome, ts
            from stated_entry
           where type = 'market.settled' and entry ->> 'marketId' is not null
        ) s on s.id = b.market_id
    )`;
}

/** Each withdrawal with its amount, its user, and the decision with its time. */
function decisions(sql: ReadSql) {
  return sql`
    decision_compared as (
      select coalesce(w.id, s.id) as place,
             case when w.id is not null
                  then concat(w.status, ' ', ${usd(sql, "w.amount_micro")}, ' of ', w.trader_id,
                              ' at ' || ${isoOf(sql, "w.decided_at")}) end as held,
             s.said || case when s.decided then ' at ' || ${statedAt(sql, "w.decided_at", "s.ts")} else '' end as said
        from withdrawal w
        full join (
          select distinct on (entry ->> 'withdrawalId')
                 entry ->> 'withdrawalId' as id,
                 concat(case type when 'withdrawal.requested' then 'pending' else substring(type from 12) end, ' ',
                        entry ->> 'amount', ' of ', entry ->> 'userId') as said,
                 type <> 'withdrawal.requested' as decided, ts
            from stated_entry
           where type like 'withdrawal.%' and entry ->> 'withdrawalId' is not null
           order by entry ->> 'withdrawalId', seq desc
        ) s on s.id = w.id
    )`;
}
