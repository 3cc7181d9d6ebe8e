import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";

/** Markets past their closing time, by the database's clock, that are not settled and whose closing is not on record. */
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

/** How many markets are past their closing time and not settled, and the one that has waited longest. */
export async function countUnsettled(sql: ReadSql): Promise<{ count: number; oldest: string | null }> {
  const [row] = await sql`
    select count(*)::int4 as count, (array_agg(m.id order by m.close_at, m.id))[1] as oldest
      from book b
      join market m on m.id = b.market_id
     where b.status <> 'settled'
       and m.close_at <= ${nowMs(sql)}`;
  return { count: row?.count ?? 0, oldest: row?.oldest ?? null };
}
