import { commitsToDisk } from "../postgres/commit-setting.ts";
import type { ReadSql, Sql } from "../postgres/connect.ts";

/** Whether the database has a text search configuration of this name. */
export async function knowsTextSearch(sql: ReadSql, name: string): Promise<boolean> {
  const rows = await sql`
    select 1
      from pg_ts_config c
      join pg_namespace n on n.oid = c.cfgnamespace
     where case when strpos(${name}::text, '.') > 0
                then n.nspname || '.' || c.cfgname = ${name}
                else c.cfgname = ${name} and pg_ts_config_is_visible(c.oid)
           end`;
  return rows.length > 0;
}

/** Updates the search of markets to the configuration in the applied document, if it differs. */
export async function followMarketSearch(sql: Sql): Promise<void> {
  await sql`select follow_market_search() where ${commitsToDisk(sql)}`;
}
