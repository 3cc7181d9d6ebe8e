import type { Sql } from "../connect.ts";

/** The database's clock, which decides whether a market is closed: whole milliseconds since the epoch. */
export async function readClock(sql: Sql): Promise<number> {
  const [row] = await sql<{ now: number }[]>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  return Math.floor(row?.now ?? Number.NaN);
}
