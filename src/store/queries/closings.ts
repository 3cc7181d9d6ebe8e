import type { Sql } from "../connect.ts";
import { nowMs } from "./now.ts";

/** Markets past their closing time, by the database's clock, that are not settled and whose closing is not on record. */
export async function listUnrecordedClosings(sql: Sql, limit: number): Promise<string[]> {
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
