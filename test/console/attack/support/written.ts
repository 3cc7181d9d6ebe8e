import { createHash } from "node:crypto";
import type { ServedTenant } from "../../../server/support/tenant.ts";

/** Tables that note what happened outside of the chain: uses of keys and sessions, refusals, counts, kept answers. */
const NOTES = ["security_event", "key_use", "request_count", "console_session", "server", "lease"];

/** A digest of every row that a request could have written; equal digests mean that nothing changed. */
export async function written({ backend: { sql } }: ServedTenant): Promise<Record<string, string>> {
  const tables = await sql`
    select table_name as name from information_schema.tables
     where table_schema = current_schema() and table_type = 'BASE TABLE' order by table_name`;
  const digests: Record<string, string> = {};
  for (const { name } of tables) {
    if (NOTES.includes(name)) continue;
    const [row] =
      await sql`select coalesce(string_agg(t::text, chr(10) order by t::text), '') as rows from ${sql(name)} t`;
    digests[name] = createHash("sha256").update(String(row?.rows)).digest("hex");
  }
  return digests;
}
