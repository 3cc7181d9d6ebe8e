import type { LedgerMark, SealedCheckpoint } from "../../domain/audit/ledger-checkpoint.ts";
import type { ReadSql, Sql } from "../../postgres/connect.ts";

/** The head, and the stored checkpoint with what the log says of it, all of one moment. */
export interface CheckpointReading {
  head: LedgerMark;
  stored: SealedCheckpoint | undefined;
  /** Whether the log holds the checkpoint's entry, with the same hash and no later than its head. */
  isOfThisLog: boolean;
  /** Milliseconds by the database's clock. */
  readAt: number;
  /** The session that read this, as `cancelStatement` takes it. */
  backend: number;
}

export async function readCheckpoint(sql: ReadSql): Promise<CheckpointReading> {
  const [row] = await sql`
    select h.seq as head_seq, h.hash as head_hash, h.ts as head_ts, c.*,
           coalesce(c.seq <= h.seq and c.hash = (select a.hash from audit a where a.seq = c.seq), false) as is_of_this_log,
           floor(extract(epoch from clock_timestamp()) * 1000)::float8 as read_at,
           pg_backend_pid() as backend
      from (select 1) as one
      left join head h on h.id = 1
      left join ledger_checkpoint c on c.id = 1`;
  return {
    head: { seq: BigInt(row?.head_seq ?? 0), hash: row?.head_hash ?? "", ts: Number(row?.head_ts ?? 0) },
    stored: row?.mac == null ? undefined : toCheckpoint(row),
    isOfThisLog: row?.is_of_this_log === true,
    readAt: Number(row?.read_at),
    backend: Number(row?.backend),
  };
}

function toCheckpoint(row: Record<string, unknown>): SealedCheckpoint {
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
    values (1, ${verifiedAt}, ${ok}, ${String(seq)}, ${hash}, ${ts}, ${digest}, ${keyId}, ${mac})
        on conflict (id) do update
       set (verified_at, ok, seq, hash, ts, digest, key_id, mac)
         = (excluded.verified_at, excluded.ok, excluded.seq, excluded.hash, excluded.ts, excluded.digest, excluded.key_id,
            excluded.mac)
     where ledger_checkpoint.mac = ${replaces}
        or (ledger_checkpoint.verified_at, ledger_checkpoint.seq) < (excluded.verified_at, excluded.seq)`;
}
