import type { AuditEntry, ChainPoint } from "../domain/audit/audit-link.ts";
import { TABLES } from "../ledger/tables.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** The head and the log's first and last rows, all of one moment. */
export interface LogReading {
  /** Undefined when the head row is missing; `ts` as an entry writes it. */
  head: (ChainPoint & { ts: string }) | undefined;
  /** The first row after the head, of the log or of the journals that are written with it. */
  beyond: bigint | undefined;
  /** The first row; 1 when there is none. */
  first: bigint;
  /** The last row, whatever the head says; 0 when there is none. */
  last: ChainPoint;
  /** Hashes of the rows that were asked for, by seq. */
  hashes: ReadonlyMap<bigint, string>;
  /** Milliseconds by the database's clock. */
  readAt: number;
}

/** Costs a few index lookups, however long the log is: one in each table that an entry's number is a key of. */
export async function readLog(sql: ReadSql, places: readonly Pick<ChainPoint, "seq">[] = []): Promise<LogReading> {
  const [row] = await sql`
    select h.seq, h.hash, h.ts,
           least(
             (select min(a.seq) from audit a where a.seq > h.seq),
             (select min(t.seq) from transfer t where t.seq > h.seq),
             (select min(t.seq) from trade t where t.seq > h.seq),
             (select min(t.seq) from hedge t where t.seq > h.seq)
           ) as beyond,
           coalesce((select min(a.seq) from audit a), 1) as first_seq,
           coalesce((select max(a.seq) from audit a), 0) as last_seq,
           (select a.hash from audit a order by a.seq desc limit 1) as last_hash,
           (select string_agg(a.seq || ' ' || a.hash, ',')
              from audit a
             where a.seq = any(${textArray(places.map(({ seq }) => String(seq)))}::bigint[])) as held,
           floor(extract(epoch from clock_timestamp()) * 1000)::float8 as read_at
      from (select 1) as one
      left join head h on h.id = 1`;
  const held: string[] = row?.held ? row.held.split(",") : [];
  return {
    head:
      row?.seq == null
        ? undefined
        : { seq: BigInt(row.seq), hash: row.hash, ts: new Date(Number(row.ts)).toISOString() },
    beyond: row?.beyond == null ? undefined : BigInt(row.beyond),
    first: BigInt(row?.first_seq ?? 1),
    last: { seq: BigInt(row?.last_seq ?? 0), hash: row?.last_hash ?? "0".repeat(64) },
    hashes: new Map(held.map((each) => each.split(" ")).map(([seq = "0", hash = ""]) => [BigInt(seq), hash])),
    readAt: Number(row?.read_at),
  };
}

/** The keys that the last two entries, up to `seq` where it is given, name; none for a log without entries. */
export async function lastKeyIds(sql: ReadSql, seq?: bigint): Promise<{ seq: bigint; keyId: string }[]> {
  const rows = await sql`
    select seq, key_id
      from audit
     ${seq === undefined ? sql`` : sql`where seq <= ${String(seq)}`}
     order by seq desc
     limit 2`;
  return rows.map((row) => ({ seq: BigInt(row.seq), keyId: String(row.key_id) }));
}

/** The first missing entry up to `seq`; undefined when all are there. Counts every row up to it. */
export async function firstGap(sql: ReadSql, seq: bigint): Promise<bigint | undefined> {
  const [all] = await sql`select count(*) as count from audit where seq between 1 and ${String(seq)}`;
  if (BigInt(all?.count ?? 0) === seq) return undefined;
  const [row] = await sql`
    select min(expected.seq) as seq
      from (select 1 as seq
            union all
            select seq + 1 from audit where seq between 1 and ${String(seq - 1n)}) as expected
     where not exists (select 1 from audit a where a.seq = expected.seq)`;
  return row?.seq == null ? undefined : BigInt(row.seq);
}

/** Entries of accepted rollbacks, each with the hash of the entry before it: enough to check its seal. */
export async function readRollbacks(sql: ReadSql): Promise<(AuditEntry & { previousHash: string })[]> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.audit.selected("a"))}, p.hash as previous_hash
      from audit a
      join audit p on p.seq = a.seq - 1
      join head h on h.id = 1 and a.seq <= h.seq
     where a.type = 'rollback.accepted'
     order by a.seq`;
  return rows.map((row) => ({ ...TABLES.audit.decode(row), previousHash: row.previous_hash }));
}
