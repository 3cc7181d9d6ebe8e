import { textArray } from "../../postgres/arrays.ts";
import { commitsLocally } from "../../postgres/commit-setting.ts";
import type { ReadSql, Sql } from "../../postgres/connect.ts";

/** When each key was last used, by the SHA-256 of its value. */
export async function readKeyUse(sql: ReadSql): Promise<Map<string, number>> {
  const rows = await sql`select hash, last_used_at from key_use`;
  return new Map(rows.map((row) => [row.hash as string, Number(row.last_used_at)]));
}

/** Records uses that a process has seen. The latest use wins, so the order of servers does not matter, and repeats are harmless. */
export async function recordKeyUse(sql: Sql, seen: ReadonlyMap<string, number>): Promise<void> {
  const hashes = [...seen.keys()].sort();
  await sql`
    insert into key_use (hash, last_used_at)
    select * from unnest(${textArray(hashes)}::text[], ${`{${hashes.map((hash) => seen.get(hash)).join(",")}}`}::bigint[])
     where ${commitsLocally(sql)}
        on conflict (hash) do update set last_used_at = excluded.last_used_at
     where key_use.last_used_at < excluded.last_used_at`;
}
