import type { ReadSql } from "./connect.ts";

/** The database's clock, which decides whether a market is closed: whole milliseconds since the epoch. */
export async function readClock(sql: ReadSql): Promise<number> {
  const [row] = await sql<{ now: number }[]>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  return Math.floor(row?.now ?? Number.NaN);
}

/**
 * The database's clock in whole milliseconds, for comparisons with columns. It is a bigint, because comparing a column
 * with a double would convert every row and not use the index; whole milliseconds lose nothing for integer columns.
 */
export function nowMs(sql: ReadSql) {
  return sql`floor(extract(epoch from now()) * 1000)::bigint`;
}
