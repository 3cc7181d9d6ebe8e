import type { AuditEntry } from "../../domain/audit-link.ts";
import type { ChainPoint, SealedLines } from "../../engine/chain-walk.ts";
import type { Sql } from "../connect.ts";

export interface AuditQuery {
  /** Only entries before this one, newest first. */
  before?: bigint | undefined;
  /** Only entries after this one, oldest first. */
  after?: bigint | undefined;
  type?: string | undefined;
  actor?: string | undefined;
  limit: number;
}

/** Entries, newest first unless `after` is given. */
export async function listAuditEntries(
  sql: Sql,
  { before, after, type, actor, limit }: AuditQuery,
): Promise<AuditEntry[]> {
  const rows = await sql<AuditRow[]>`
    select seq, type, actor, payload, ts, key_id, hash
      from audit
     where true
       ${before === undefined ? sql`` : sql`and seq < ${String(before)}`}
       ${after === undefined ? sql`` : sql`and seq > ${String(after)}`}
       ${type === undefined ? sql`` : sql`and type = ${type}`}
       ${actor === undefined ? sql`` : sql`and actor = ${actor}`}
     order by seq ${after === undefined ? sql`desc` : sql`asc`}
     limit ${limit}`;
  return rows.map(toEntry);
}

/**
 * Entries in order, from `from` on. The database joins the lines, and a page travels as one text: a row of seven
 * columns for each entry would cost more than the HMAC that it is read for. A separator smuggled into a field splits the
 * entry into pieces that do not verify.
 */
export async function readSealedLines(sql: Sql, from: bigint, limit: number): Promise<SealedLines[]> {
  const [row] = await sql<{ page: string | null }[]>`
    select string_agg(
             key_id || chr(10) || seq || chr(10) || ts || chr(10) || type || chr(10) || actor || chr(10) || payload
               || chr(31) || hash,
             chr(30)
           ) as page
      -- One plain aggregate keeps the order of its input; sorting inside it would cost more than the rest.
      from (select * from audit where seq >= ${String(from)} order by seq limit ${limit}) as entry`;
  if (!row?.page) return [];
  return row.page.split("\x1e").map((entry) => {
    const end = entry.lastIndexOf("\x1f");
    return { lines: entry.slice(0, end), hash: entry.slice(end + 1) };
  });
}

/** The head row, which makes a cut tail visible, and the database's time in milliseconds. */
export async function readAuditHead(sql: Sql): Promise<ChainPoint & { readAt: number }> {
  const [row] = await sql<{ seq: string; hash: string; read_at: number }[]>`
    select seq, hash, (extract(epoch from clock_timestamp()) * 1000)::float8 as read_at from head where id = 1`;
  if (!row) throw new Error("The head row is missing");
  return { seq: BigInt(row.seq), hash: row.hash, readAt: Math.floor(row.read_at) };
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
