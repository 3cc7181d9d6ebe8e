import type { AuditEntry } from "../../domain/audit-link.ts";
import type { ChainPoint } from "../../engine/chain-walk.ts";
import { textArray } from "../arrays.ts";
import type { Sql } from "../connect.ts";

/** The head and what stands around it, all of one moment. */
export interface LogReading {
  /** Undefined when the head row is missing; `ts` as an entry writes it. */
  head: (ChainPoint & { ts: string }) | undefined;
  /** The first row after the head. */
  beyond: bigint | undefined;
  /** The last row, whatever the head says; 0 when there is none. */
  last: ChainPoint;
  /** Hashes of the rows that were asked for, by seq. */
  hashes: ReadonlyMap<bigint, string>;
}

/** Costs a few index lookups, however long the log is. */
export async function readLog(sql: Sql, places: readonly Pick<ChainPoint, "seq">[] = []): Promise<LogReading> {
  const [row] = await sql`
    select h.seq, h.hash, h.ts,
           (select min(a.seq) from audit a where a.seq > h.seq) as beyond,
           coalesce((select max(a.seq) from audit a), 0) as last_seq,
           (select a.hash from audit a order by a.seq desc limit 1) as last_hash,
           (select string_agg(a.seq || ' ' || a.hash, ',')
              from audit a
             where a.seq = any(${textArray(places.map(({ seq }) => String(seq)))}::bigint[])) as held
      from (select 1) as one
      left join head h on h.id = 1`;
  const held: string[] = row?.held ? row.held.split(",") : [];
  return {
    head:
      row?.seq == null
        ? undefined
        : { seq: BigInt(row.seq), hash: row.hash, ts: new Date(Number(row.ts)).toISOString() },
    beyond: row?.beyond == null ? undefined : BigInt(row.beyond),
    last: { seq: BigInt(row?.last_seq ?? 0), hash: row?.last_hash ?? "0".repeat(64) },
    hashes: new Map(held.map((each) => each.split(" ")).map(([seq = "0", hash = ""]) => [BigInt(seq), hash])),
  };
}

/** Entries of accepted rollbacks, each with the hash of the entry before it: enough to check its seal. */
export async function readRollbacks(sql: Sql): Promise<(AuditEntry & { previousHash: string })[]> {
  const rows = await sql`
    select a.seq, a.type, a.actor, a.payload, a.ts, a.key_id, a.hash, p.hash as previous_hash
      from audit a
      join audit p on p.seq = a.seq - 1
      join head h on h.id = 1 and a.seq <= h.seq
     where a.type = 'rollback.accepted'
     order by a.seq`;
  return rows.map((row) => ({
    seq: BigInt(row.seq),
    type: row.type,
    actor: row.actor,
    payloadText: row.payload,
    ts: row.ts,
    keyId: row.key_id,
    hash: row.hash,
    previousHash: row.previous_hash,
  }));
}
