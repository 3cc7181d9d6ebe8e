import type { ReadSql } from "./connect.ts";

/** The database's clock, which decides whether a market is closed: whole milliseconds since the epoch. */
export async function readClock(sql: ReadSql): Promise<number> {
  const [row] = await sql<{ now: number }[]>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  return Math.floor(row?.now ?? Number.NaN);
}

/**
 * The database's clock in whole milliseconds, for comparisons with columns. A bigint, because a column that is compared
 * with a double is converted row by row and its index lies idle; whole, because for integers nothing is lost by it.
 */
export function nowMs(sql: ReadSql) {
  return sql`floor(extract(epoch from now()) * 1000)::bigint`;
}
