import type { AuditEntry, ChainPoint } from "../domain/audit/audit-link.ts";
import type { ChainBreak } from "../domain/audit/chain-walk.ts";
import { bigint, rowReader, text } from "../ledger/codec.ts";
import type { Head } from "../ledger/commit.ts";
import { TABLES } from "../ledger/tables.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** The head, and the log's first and last rows at one moment. */
export interface LogReading {
  /** Undefined when the head row is missing; `ts` in the form of an entry. */
  head: (ChainPoint & { ts: string }) | undefined;
  /** The first row after the head, in the log or in the journals that are written with it. */
  beyond: bigint | undefined;
  /** The first row; 1 without rows. */
  first: bigint;
  /** The last row, whatever the head says; 0 without rows. */
  last: ChainPoint;
  /** Hashes of the requested rows, by seq. */
  hashes: ReadonlyMap<bigint, string>;
  /** In milliseconds, by the database's clock. */
  readAt: number;
}

/** Costs a few index lookups, however long the log is: one in each table with an entry's number as a key. */
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

/** The keys in the last two entries, or the last two up to `seq`; empty for a log without entries. */
export async function lastKeyIds(sql: ReadSql, seq?: bigint): Promise<{ seq: bigint; keyId: string }[]> {
  const rows = await sql`
    select seq, key_id
      from audit
     ${seq === undefined ? sql`` : sql`where seq <= ${String(seq)}`}
     order by seq desc
     limit 2`;
  return rows.map((row) => ({ seq: BigInt(row.seq), keyId: String(row.key_id) }));
}

/** The first missing entry up to `seq`; undefined when none is missing. Counts every row up to it. */
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

/** Entries of accepted rollbacks, each with the previous entry's hash, which is enough to check its seal. */
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

/** The break of a log without its head row. */
export function headMissing({ seq }: ChainPoint): ChainBreak {
  return { kind: "head-missing", seq, problem: "the head row is missing" };
}

/** The problem of a log, without following its entries. */
export function problemOf(log: LogReading): ChainBreak | undefined {
  return log.head ? outside(log) : headMissing(log.last);
}

/** Rows outside the chain, with which the next commit would collide. */
export function outside({ head, beyond, first }: LogReading): ChainBreak | undefined {
  if (beyond !== undefined)
    return { kind: "beyond-head", seq: beyond, problem: `row ${beyond} comes after the head, ${head?.seq}` };
  if (first < 1n) return { kind: "broken", seq: first, problem: `row ${first} comes before the first entry` };
  return undefined;
}

/**
 * The last entry of the apply that wrote an entry; the entry itself if no apply did.
 * @param types of entries that an apply writes before its last one
 */
export async function findEndOfApply(sql: ReadSql, seq: bigint, types: Iterable<string>): Promise<bigint> {
  const among = sql`(select unnest(${textArray([...types])}::text[]))`;
  const [row] = await sql<{ seq: string }[]>`
    select applied.seq
      from audit asked
     cross join lateral (
             select seq, ts from audit where type = 'config.applied' and seq > asked.seq order by seq limit 1
           ) applied
     where asked.seq = ${String(seq)}
       and applied.ts = asked.ts
       and not exists (
             select 1 from audit e where e.seq >= asked.seq and e.seq < applied.seq and e.type not in ${among}
           )`;
  return row ? BigInt(row.seq) : seq;
}

const toHead = rowReader({ seq: bigint(), hash: text(), epoch: bigint() });

/** The end of the log and the database's clock in milliseconds, which show whether a cached answer is still valid. */
export async function readHead(sql: ReadSql): Promise<{ head: Pick<Head, "seq" | "hash" | "epoch">; now: number }> {
  const [row] = await sql`
    select seq, hash, epoch, (extract(epoch from clock_timestamp()) * 1000)::float8 as now
      from head
     where id = 1`;
  // Without the row no process can commit, so its absence also identifies a state.
  return row ? { head: toHead(row), now: row.now } : { head: { seq: -1n, hash: "", epoch: 0n }, now: 0 };
}
