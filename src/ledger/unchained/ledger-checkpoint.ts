import type { LedgerMark, SealedCheckpoint } from "../../domain/audit/ledger-checkpoint.ts";
import type { ReadSql, Row, Sql } from "../../postgres/connect.ts";
import { isoOf } from "../on-record.ts";
import { commitsLocally } from "./local-commit.ts";

/** The head, and the stored checkpoint with what the log says of it, all of one moment. */
export interface CheckpointReading {
  head: LedgerMark;
  stored: SealedCheckpoint | undefined;
  /** Whether the log holds the checkpoint's entry, with the same hash and no later than its head. */
  isOfThisLog: boolean;
  /** Whether the newest reconciliation on record is later than the checkpoint's comparison, and found something. */
  isRefuted: boolean;
  /** Milliseconds by the database's clock. */
  readAt: number;
  /** The session that read this, as `cancelStatement` takes it. */
  backend: number;
}

/**
 * Reads within a snapshot. A checkpoint that cannot be read, or whose texts are longer than any that a server writes, counts
 * as none, and is not waited for.
 * @param onError called for one that cannot be read
 */
export async function readCheckpoint(sql: ReadSql, onError?: (error: unknown) => void): Promise<CheckpointReading> {
  const [head] = await sql`
    select h.seq, h.hash, h.ts, floor(extract(epoch from clock_timestamp()) * 1000)::float8 as read_at,
           pg_backend_pid() as backend
      from (select 1) as one
      left join head h on h.id = 1`;
  const row = await readRow(sql, onError);
  return {
    head: { seq: BigInt(head?.seq ?? 0), hash: head?.hash ?? "", ts: Number(head?.ts ?? 0) },
    stored: row && toCheckpoint(row),
    isOfThisLog: row?.is_of_this_log === true,
    isRefuted: row?.is_refuted === true,
    readAt: Number(head?.read_at),
    backend: Number(head?.backend),
  };
}

/** Within a savepoint: after an error in a transaction PostgreSQL answers nothing else of it. */
async function readRow(sql: ReadSql, onError?: (error: unknown) => void): Promise<Row | undefined> {
  await sql`savepoint checkpoint`;
  try {
    // What holds this lock back alters the table, and may take any time.
    await sql`lock table ledger_checkpoint in access share mode nowait`;
    const [row] = await sql`
      select c.*, coalesce(c.seq <= h.seq and c.hash = (select a.hash from audit a where a.seq = c.seq), false) as is_of_this_log,
             coalesce((select a.ts collate "C" > ${isoOf(sql, "c.verified_at")}
                              and not (octet_length(a.payload) < 100 and a.payload like '%"ok":true%')
                         from audit a where a.type = 'reconcile.run' order by a.seq desc limit 1), false) as is_refuted
        from ledger_checkpoint c
        left join head h on h.id = 1
       where c.id = 1 and octet_length(c.hash) = 64 and octet_length(c.digest) <= 64 and octet_length(c.key_id) <= 32
         and octet_length(c.mac) = 64`;
    return row;
  } catch (error) {
    // Fails too where the connection is lost, and then with it the whole reading.
    await sql`rollback to savepoint checkpoint`;
    onError?.(error);
    return undefined;
  }
}

function toCheckpoint(row: Row): SealedCheckpoint {
  return {
    verifiedAt: Number(row.verified_at),
    ok: row.ok === true,
    seq: BigInt(String(row.seq)),
    hash: String(row.hash),
    ts: Number(row.ts),
    digest: String(row.digest),
    keyId: String(row.key_id),
    mac: String(row.mac),
  };
}

/**
 * Stores a checkpoint, unless another process has stored a later one meanwhile.
 * @param replaces the mac of the row that was read, which is replaced whatever it says
 */
export async function storeCheckpoint(sql: Sql, checkpoint: SealedCheckpoint, replaces: string): Promise<void> {
  const { verifiedAt, ok, seq, hash, ts, digest, keyId, mac } = checkpoint;
  await sql`
    insert into ledger_checkpoint (id, verified_at, ok, seq, hash, ts, digest, key_id, mac)
    select 1, ${verifiedAt}::bigint, ${ok}::boolean, ${String(seq)}::bigint, ${hash}, ${ts}::bigint, ${digest}, ${keyId}, ${mac}
     where ${commitsLocally(sql)}
        on conflict (id) do update
       set (verified_at, ok, seq, hash, ts, digest, key_id, mac)
         = (excluded.verified_at, excluded.ok, excluded.seq, excluded.hash, excluded.ts, excluded.digest, excluded.key_id,
            excluded.mac)
     where ledger_checkpoint.mac = ${replaces} or octet_length(ledger_checkpoint.mac) <> 64
        or (ledger_checkpoint.verified_at, ledger_checkpoint.seq) < (excluded.verified_at, excluded.seq)`;
}
