import { configurationSaid, isoOf, membersOf, upToHead } from "../../ledger/on-record.ts";
import { settings } from "../../ledger/tenant-record.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import type { Since } from "./reconcile-sums.ts";

/**
 * The checks of the tables that no journal adds up to. What a table holds and what the log says are written as texts of
 * one form, which are compared and shown; null is no row, or no entry. A difference counts 1,000,000: a dollar of discrepancy.
 * Keys and the configuration are few and always compared whole.
 * @param since only users of whom a later entry tells are compared
 */
export function standingChecks(sql: ReadSql, since?: Since) {
  return sql`
    ${configurationSaid(sql)},
    ${keys(sql)},
    ${users(sql, since)},
    ${kyc(sql)},
    ${restrictions(sql)},
    ${suitability(sql)},
    ${settings(sql)},
    said_and_held as (
      select 'keys' as name, * from key_compared
      union all select 'kyc', * from kyc_compared
      union all select 'restrictions', * from restriction_compared
      union all select 'suitability', * from suitability_compared
      union all select * from setting_compared
      union all select 'keys', 'entry ' || seq, null, 'unreadable' from key_entry where not readable
      union all
      select case type when 'kyc.updated' then 'kyc' when 'user.restricted' then 'restrictions' else 'suitability' end,
             'entry ' || seq, null, ${UNREADABLE}
        from user_entry
       where not readable
    ),
    standing as (
      select name, place, held, said, case when held is not distinct from said then 0 else 1000000 end as difference
        from said_and_held
    )`;
}

export const UNREADABLE = "unreadable";
const readable = (sql: ReadSql) => sql`jsonb_typeof(entry) is not distinct from 'object'`;

/** A JSON list of texts in one text, apart by spaces; null for what is no list. */
const wordsOf = (value: string) =>
  `(select coalesce(string_agg(word, ' ' order by place), '')
      from jsonb_array_elements_text(case when jsonb_typeof(${value}) = 'array' then ${value} end)
           with ordinality as each (word, place)
    having jsonb_typeof(${value}) = 'array')`;

/** What a key may do and from where, as far as it is not what is usual for its type. */
const keptTo = (sql: ReadSql, key: { type: string; scopes: string; networks: string }) =>
  sql.unsafe(`coalesce(' for ' || nullif(${key.scopes}, case ${key.type} when 'admin' then '*' else '' end), '')
    || coalesce(' from ' || nullif(${key.networks}, ''), '')`);

/** Each value with its name, type, scopes, networks, beginning and end: the last entry that lists it says them all. */
function keys(sql: ReadSql) {
  return sql`
    key_entry as materialized (
      select seq, entry, ${readable(sql)} as readable
        from (
          select seq, audit_json(payload) as entry
            from audit
           where type in ('key.created', 'key.revoked')
          -- Found by type and not by the head's number, and parsed once for all columns.
          offset 0
        ) each
       where ${upToHead(sql)}
    ),
    key_said as (
      select distinct on (value.key)
             value.key as hash, entry ->> 'name' as name,
             coalesce(entry ->> 'type' || ' key ' || (entry ->> 'name') || ' of ' || (value.value ->> 'createdAt')
                      || ${keptTo(sql, {
                        type: "entry ->> 'type'",
                        scopes: wordsOf("(value.value -> 'scopes')"),
                        networks: wordsOf("(value.value -> 'from')"),
                      })}
                      || coalesce(' until ' || (value.value ->> 'expiresAt'), ''), ${UNREADABLE}) as said
        from key_entry
       cross join lateral ${membersOf(sql, "entry -> 'keys'")} value
       order by value.key, seq desc
    ),
    key_compared as (
      select coalesce(k.name, s.name, 'fp:' || left(s.hash, 8)) as place,
             k.type || ' key ' || k.name || ' of ' || ${isoOf(sql, "k.created_at")}
               || ${keptTo(sql, { type: "k.type", scopes: "k.scopes", networks: "k.networks" })}
               || coalesce(' until ' || ${isoOf(sql, "k.expires_at")}, '') as held,
             s.said
        from api_key k
        full join key_said s on s.hash = k.hash
       where not (select legacy from legacy)
    )`;
}

/** `user_entry`: entries about the standing of users. `user_row`: the rows that hold it. */
function users(sql: ReadSql, since: Since | undefined) {
  const ofStanding = sql`type in ('kyc.updated', 'user.restricted', 'suitability.submitted')`;
  const all = sql`select seq, type, audit_json(payload) as entry from audit where ${ofStanding}`;
  const userId = sql`(audit_json(payload) ->> 'userId')`;
  // All entries of the users whom a new one names, each found by its index; and new ones that name no user.
  const ofThese = sql`
    select seq, type, audit_json(payload) as entry
      from (select distinct ${userId} as user_id from audit where ${ofStanding} and seq > ${String(since?.seq)}::bigint) named
     cross join lateral (select * from audit where ${ofStanding} and ${userId} = named.user_id offset 0) entry
     union all
    select seq, type, audit_json(payload) from audit
     where ${ofStanding} and seq > ${String(since?.seq)}::bigint and ${userId} is null`;
  return sql`
    user_entry as materialized (
      select seq, type, entry, entry ->> 'userId' as user_id, ${readable(sql)} as readable
        from (
          ${since ? ofThese : all}
          offset 0
        ) each
       where ${upToHead(sql)}
    ),
    user_row as (
      select * from trader ${since ? sql`where id in (select user_id from user_entry)` : sql``}
    )`;
}

/** The last identity check of each user, and the last jurisdiction that one named. */
function kyc(sql: ReadSql) {
  return sql`
    kyc_said as (
      select distinct on (user_id)
             user_id,
             case entry ->> 'status' when 'passed' then 'verified' when 'failed' then 'rejected' else ${UNREADABLE} end
               as state,
             entry ->> 'verifiedAt' as verified_at
        from user_entry
       where type = 'kyc.updated' and user_id is not null
       order by user_id, seq desc
    ),
    place_said as (
      select distinct on (user_id) user_id, entry ->> 'jurisdiction' as jurisdiction
        from user_entry
       where type = 'kyc.updated' and entry ->> 'jurisdiction' is not null
       order by user_id, seq desc
    ),
    kyc_compared as (
      select coalesce(t.id, s.user_id) as place,
             t.kyc || coalesce(' by ' || ${isoOf(sql, "t.kyc_at")}, '') || coalesce(' in ' || t.jurisdiction, '') as held,
             coalesce(s.state, 'unverified') || coalesce(' by ' || s.verified_at, '')
               || coalesce(' in ' || p.jurisdiction, '') as said
        from user_row t
        full join kyc_said s on s.user_id = t.id
        left join place_said p on p.user_id = s.user_id
    )`;
}

/** Whether the last word on each user is a restriction. */
function restrictions(sql: ReadSql) {
  return sql`
    restriction_said as (
      select distinct on (user_id)
             user_id,
             case entry ->> 'restricted' when 'true' then 'restricted' when 'false' then 'not restricted'
                  else ${UNREADABLE} end as said
        from user_entry
       where type = 'user.restricted' and user_id is not null
       order by user_id, seq desc
    ),
    restriction_compared as (
      select coalesce(t.id, s.user_id) as place,
             case when t.restricted then 'restricted' when not t.restricted then 'not restricted' end as held,
             coalesce(s.said, 'not restricted') as said
        from user_row t
        full join restriction_said s on s.user_id = t.id
    )`;
}

/** The last assessment of each user. Entries of older versions do not say when it was, to the millisecond. */
function suitability(sql: ReadSql) {
  return sql`
    suitability_said as (
      select distinct on (user_id)
             user_id, coalesce(entry ->> 'score', ${UNREADABLE}) as score, entry ->> 'submittedAt' as submitted_at
        from user_entry
       where type = 'suitability.submitted' and user_id is not null
       order by user_id, seq desc
    ),
    suitability_compared as (
      select coalesce(t.id, s.user_id) as place,
             case when t.id is not null then coalesce(t.suitability_score::text, 'no score')
               || coalesce(' of ' || ${isoOf(sql, "t.suitability_at")}, '') end as held,
             coalesce(s.score, 'no score')
               || case when s.user_id is null then ''
                       else coalesce(' of ' || coalesce(s.submitted_at, ${isoOf(sql, "t.suitability_at")}), '') end as said
        from user_row t
        full join suitability_said s on s.user_id = t.id
    )`;
}
