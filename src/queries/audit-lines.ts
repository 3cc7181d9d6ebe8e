import type { ReadSql } from "../postgres/connect.ts";
import { type AuditFilter, auditCandidates } from "./audit.ts";

export interface LinesQuery extends AuditFilter {
  after: bigint;
  /** The last entry that may come. */
  upTo: bigint;
  /** Entries at the most. */
  limit: number;
}

/** Entries in order, as one text: a row of seven columns for each would cost more than all else. */
export interface PackedEntries {
  /** Entries with {@link ENTRY_END} between them, their fields with line breaks: key, seq, time, type, actor, hash, payload. */
  packed: string;
  /** The last of them; undefined for none. */
  last: bigint | undefined;
  /** Whether each payload is a JSON object. Other text than JSON fails the statement. */
  areObjects: boolean;
}

export const ENTRY_END = "\x1e";

/** @throws PostgresError 22P02 when a payload is no JSON, as only one that was tampered with is */
export async function readPacked(sql: ReadSql, query: LinesQuery): Promise<PackedEntries> {
  const { after, upTo, limit, type, actor } = query;
  const isWhole = type === undefined && actor === undefined;
  const [row] = await sql<{ packed: string | null; last: string | null; are_objects: boolean | null }[]>`
    select string_agg(
             -- Joined with ||, because concat_ws looks the types of its arguments up for every row.
             key_id || chr(10) || seq || chr(10) || ts || chr(10) || type || chr(10) || actor || chr(10) || hash || chr(10) || payload,
             chr(30)
           ) as packed,
           max(seq) as last,
           bool_and(json_typeof(payload::json) = 'object') as are_objects
      from (${
        isWhole
          ? sql`select * from audit where seq > ${String(after)} and seq <= ${String(upTo)} order by seq limit ${limit}`
          : sql`select a.*
                  from (${auditCandidates(sql, { ...query, oldestFirst: true })}) c
                  join audit a on a.seq = c.seq
                 where a.seq <= ${String(upTo)}
                 order by a.seq
                 limit ${limit}`
      }) as entry`;
  return {
    packed: row?.packed ?? "",
    last: row?.last ? BigInt(row.last) : undefined,
    areObjects: row?.are_objects ?? true,
  };
}
