import { type AuditKey, isSealedRow } from "../../domain/audit/seal.ts";
import type { ConsoleSession } from "../../engine/rows.ts";
import { commitsLocally } from "../../postgres/commit-setting.ts";
import type { ReadSql, Sql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";
import { sealedFieldsOf } from "../sealed-rows.ts";
import { TABLES } from "../tables.ts";

/** A session that has not been ended, as the database holds it now. */
export interface OpenConsoleSession extends ConsoleSession {
  /** The last request of a person that is stored. */
  seenAt: number;
  /** The database's clock. */
  now: number;
  /** Whether the stored key has ended. */
  isKeyOver: boolean;
}

/** The open session of a token; undefined for an unknown or ended one, and for a row that no audit key sealed. */
export async function readConsoleSession(
  sql: ReadSql,
  sha256: string,
  keys: readonly AuditKey[],
): Promise<OpenConsoleSession | undefined> {
  const [stored] = await sql`
    select ${sql.unsafe(TABLES.consoleSession.selected("s"))}, greatest(s.created_at, s.last_seen_at) as seen_at,
           ${nowMs(sql)} as now, coalesce(k.expires_at <= ${nowMs(sql)}, false) as is_key_over
      from console_session s
      left join api_key k on k.hash = s.key_hash
     where s.sha256 = ${sha256} and s.ended_at is null`;
  if (!stored) return undefined;
  const row = TABLES.consoleSession.decode(stored);
  if (!isSealedRow(keys, "consoleSession", sealedFieldsOf("consoleSession", row) ?? [], row.seal ?? ""))
    return undefined;
  return { ...row, seenAt: Number(stored.seen_at), now: Number(stored.now), isKeyOver: stored.is_key_over === true };
}

/** Stores that a person used a session; the latest time wins. */
export async function recordConsoleUse(sql: Sql, sha256: string, seenAt: number): Promise<void> {
  await sql`
    update console_session set last_seen_at = ${seenAt}::bigint
     where sha256 = ${sha256} and last_seen_at < ${seenAt}::bigint and ${commitsLocally(sql)}`;
}
