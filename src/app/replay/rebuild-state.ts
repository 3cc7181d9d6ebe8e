import type { ChainBreak } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { readLog } from "../../queries/evidence.ts";
import type { Difference as Found } from "../../queries/reconcile/checks.ts";
import { recomputeLedger } from "../../queries/reconcile/reconcile.ts";
import { type Rebuilt, rebuiltOf } from "../../replay/rebuilt.ts";
import { Recomputation } from "../../replay/recomputation.ts";

/** One value of a table, or one that an entry states, that is not what the recomputation of the log gives. */
export type Difference = Pick<Found, "what" | "id" | "field" | "log" | "table">;

/** A tenant as its log alone leaves it after an entry, and where its tables say otherwise. */
export interface RebuiltState extends Rebuilt {
  /** The entry, and its hash. */
  to: number;
  hash: string;
  /** The last entry of the log. */
  head: number;
  /** Whether the chain holds up to the entry, the engine would have decided the same, and the tables agree. */
  ok: boolean;
  differences: Difference[];
}

interface RebuildOptions {
  /** The entry to stop after; the last one unless given. */
  to?: number | undefined;
  /** Every key that has sealed entries. */
  keys: readonly AuditKey[];
  onProgress?: (entries: number, of: number) => void;
}

/**
 * Recomputes the log up to an entry and compares it with the tables: with what their journals add up to by then and, at the
 * end of the log, with the rows of the present. Holds a row for each user, position and market, however long the log is. A
 * chain that breaks is a difference of the table `audit`; what was recomputed ends before it, and is compared with nothing.
 *
 * @param sql of a snapshot: the log and the tables are of one moment, whatever is written meanwhile
 * @returns the break besides, where the chain does not hold
 * @throws Fault NOT_FOUND for an entry that the log does not have
 */
export async function rebuildState(
  sql: ReadSql,
  { to, keys, onProgress }: RebuildOptions,
): Promise<{ state: RebuiltState; broken: ChainBreak | undefined }> {
  const before = await readLog(sql);
  const head = before.head ?? before.last;
  const last = to === undefined ? head.seq : BigInt(to);
  if (last > head.seq || (to !== undefined && last < 1n))
    throw new Fault("NOT_FOUND", `The log has no entry ${last}: its last one is ${head.seq}`);
  const recomputation = new Recomputation();
  const onPage = (seq: bigint) => onProgress?.(Number(seq), Number(last));
  const { differences, end, log, broken } = await recomputeLedger(sql, recomputation, { keys, to: last, onPage });
  // After its last entry a state lasts until now; after any other one, until the next.
  const now = last === head.seq && !broken ? log.readAt : recomputation.at;
  const state = {
    to: Number(end.seq),
    head: Number(head.seq),
    hash: end.hash,
    ok: differences.length === 0,
    ...rebuiltOf(recomputation.rows, now),
    differences: differences.map(({ what, id, field, log: said, table }) => ({ what, id, field, log: said, table })),
  };
  return { state, broken };
}
