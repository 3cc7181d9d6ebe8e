import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { isLeftToOracle } from "./oracle.ts";
import { isDue } from "./proposals.ts";

/** How long before its window a market's feed may have to be sampled: the life of an observation. */
const SAMPLING_MS = 125_000;

/**
 * In how many milliseconds a tenant has work without a request: recording a closing or the end of an override, settling
 * a market, delivering an event. Zero or less means now; null means that no work is known.
 * @param receivers of outgoing webhooks in the tenant file
 */
export async function readDueIn(sql: ReadSql, receivers: readonly string[]): Promise<number | null> {
  const [row] = await sql<{ due_in: number | null }[]>`
    with named as (
      select name from unnest(${textArray(receivers)}::text[]) as each (name)
    ),
    due (at) as (
      select min(m.close_at)
        from book b
        join market m on m.id = b.market_id
       where b.status <> 'settled'
         and not b.closing_recorded
      union all
      select min((each ->> 'until')::bigint)
        from tenant, jsonb_array_elements(overrides::jsonb) as each
      union all
      -- The oracle goes on asking about a market that it holds, so one whose time has come is due until it is settled.
      select min(w.instant_at - coalesce((m.terms::jsonb #>> '{rule,windowMs}')::bigint, 0) - ${SAMPLING_MS}::int8)
        from oracle_watch w
        join book b on b.market_id = w.market_id and b.status = 'open'
        join market m on m.id = w.market_id
       where w.parsed
         and not w.settled
         and ${isLeftToOracle(sql)}
      union all
      select min(final_at) from proposal where ${isDue(sql)}
      union all
      select min(m.close_at)
        from book b
        join market m on m.id = b.market_id
       where b.status = 'open'
         and exists (select 1 from tenant where policy::jsonb ->> 'resolution_url' is not null)
      union all
      select min(case when d.attempts = 0 then greatest(d.next_attempt_at, r.paused_until) else d.next_attempt_at end)
        from webhook_delivery d
        join webhook_receiver r on r.name = d.receiver and r.disabled_at is null
        join named on named.name = r.name
       where d.status = 'pending'
      union all
      select 0
        from named
        left join webhook_receiver r on r.name = named.name
        cross join (select seq from head where id = 1) as head
       where r.name is null
          or (r.disabled_at is null and r.position < head.seq)
    )
    select (min(at) - ${nowMs(sql)})::float8 as due_in from due`;
  return row?.due_in ?? null;
}

/** The count of row changes of each database, by any session, since its statistics began; all on one server. */
export async function readChanges(sql: ReadSql, databases: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql<{ name: string; changes: string }[]>`
    select datname as name, (tup_inserted + tup_updated + tup_deleted)::text as changes
      from pg_stat_database
     where datname = any(${textArray(databases)}::text[])`;
  return new Map(rows.map(({ name, changes }) => [name, changes]));
}

/** Unsettled markets past their closing time, by the database's clock, whose closing is not on record. */
export async function listUnrecordedClosings(sql: ReadSql, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select m.id
      from book b
      join market m on m.id = b.market_id
     where b.status <> 'settled'
       and not b.closing_recorded
       and m.close_at <= ${nowMs(sql)}
     order by m.close_at, m.id
     limit ${limit}`;
  return rows.map(({ id }) => id);
}

/** How long after a market's closing its oracle may take to settle it. */
const SETTLING_MS = 60_000;

/** How many markets are unsettled a minute after their closing, and the one that has waited longest. */
export async function countUnsettled(sql: ReadSql): Promise<{ count: number; oldest: string | null }> {
  const [row] = await sql`
    select count(*)::int4 as count, (array_agg(m.id order by m.close_at, m.id))[1] as oldest
      from book b
      join market m on m.id = b.market_id
     where b.status <> 'settled'
       and m.close_at <= ${nowMs(sql)} - ${SETTLING_MS}::int8`;
  return { count: row?.count ?? 0, oldest: row?.oldest ?? null };
}
