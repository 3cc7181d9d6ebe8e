import type { AuditEntry } from "../../domain/audit-link.ts";
import type { Sql } from "../connect.ts";

export interface AuditQuery {
  /** Only entries before this one. */
  before?: bigint | undefined;
  type?: string | undefined;
  actor?: string | undefined;
  limit: number;
}

/** Entries, newest first. */
export async function listAuditEntries(sql: Sql, { before, type, actor, limit }: AuditQuery): Promise<AuditEntry[]> {
  const rows = await sql<AuditRow[]>`
    select seq, type, actor, payload, ts, key_id, hash
      from audit
     where true
       ${before === undefined ? sql`` : sql`and seq < ${String(before)}`}
       ${type === undefined ? sql`` : sql`and type = ${type}`}
       ${actor === undefined ? sql`` : sql`and actor = ${actor}`}
     order by seq desc
     limit ${limit}`;
  return rows.map(toEntry);
}

/** Entries of a range in order, for verification: `from` and the `limit - 1` after it. */
export async function readAuditRange(sql: Sql, from: bigint, limit: number): Promise<AuditEntry[]> {
  const rows = await sql<AuditRow[]>`
    select seq, type, actor, payload, ts, key_id, hash
      from audit
     where seq >= ${String(from)}
     order by seq
     limit ${limit}`;
  return rows.map(toEntry);
}

/** The head row, which makes a cut tail visible. */
export async function readAuditHead(sql: Sql): Promise<{ seq: bigint; hash: string }> {
  const [row] = await sql<{ seq: string; hash: string }[]>`select seq, hash from head where id = 1`;
  if (!row) throw new Error("The head row is missing");
  return { seq: BigInt(row.seq), hash: row.hash };
}

interface AuditRow {
  seq: string;
  type: string;
  actor: string;
  payload: string;
  ts: string;
  key_id: string;
  hash: string;
}

function toEntry(row: AuditRow): AuditEntry {
  return {
    seq: BigInt(row.seq),
    type: row.type,
    actor: row.actor,
    payloadText: row.payload,
    ts: row.ts,
    keyId: row.key_id,
    hash: row.hash,
  };
}
