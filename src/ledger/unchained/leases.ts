import { textArray } from "../../postgres/arrays.ts";
import { commitsLocally } from "../../postgres/commit-setting.ts";
import type { ReadSql, Sql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";

/** Work that one server of a tenant does at a time. */
export const WORKS = ["oracle", "closing", "overrides", "webhooks", "audit"] as const;
export type Work = (typeof WORKS)[number];

/** The holder of a work; times by the database's clock. */
export interface Lease {
  work: Work;
  holder: string;
  /** Milliseconds since the epoch. */
  until: number;
  /** The remaining time. Zero or negative: the lease has ended. More than a claim grants: the clock was set back since. */
  leftMs: number;
}

export async function readLeases(sql: ReadSql): Promise<Lease[]> {
  const rows = await sql`select work, holder, until, until - ${nowMs(sql)} as left_ms from lease`;
  return rows.map(toLease);
}

/**
 * Claims works for a duration: those that the holder already has, and those whose lease has ended.
 * @returns the leases that the holder now has
 */
export async function claimLeases(sql: Sql, holder: string, works: readonly Work[], ttlMs: number): Promise<Lease[]> {
  // Rows are locked in the order of their names, so two servers cannot deadlock. A statement that waited for another's
  // claim compares with its own earlier time, and leaves that claim alone.
  const rows = await sql`
    insert into lease as held (work, holder, until)
    select work, ${holder}, ${nowMs(sql)} + ${ttlMs}::int4
      from unnest(${textArray(works)}::text[]) as wanted (work)
     where ${commitsLocally(sql)}
     order by work
        on conflict (work) do update set holder = excluded.holder, until = excluded.until
     where held.holder = excluded.holder
        or held.until not between excluded.until - ${ttlMs - 1}::int4 and excluded.until + ${ttlMs}::int4
    returning work, holder, until, ${ttlMs}::int4 as left_ms`;
  return rows.map(toLease);
}

/** Ends a holder's leases, so that others need not wait for their expiry. */
export async function releaseLeases(sql: Sql, holder: string): Promise<void> {
  await sql`update lease set until = 0 where holder = ${holder} and until <> 0 and ${commitsLocally(sql)}`;
}

function toLease({ work, holder, until, left_ms }: Record<string, unknown>): Lease {
  const known = WORKS.find((each) => each === work);
  if (known === undefined) throw new Error(`A lease of unknown work: ${String(work)}`);
  return { work: known, holder: String(holder), until: Number(until), leftMs: Number(left_ms) };
}
