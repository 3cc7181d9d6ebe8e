import type { ChainBreak } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { readLog } from "../../queries/evidence.ts";
import type { Difference as Found } from "../../queries/reconcile/checks.ts";
import { recomputeLedger } from "../../queries/reconcile/reconcile.ts";
import { type Rebuilt, rebuiltOf } from "../../replay/rebuilt.ts";
import { Recomputation } from "../../replay/recomputation.ts";

/** A value of a table or of an entry that differs from the recomputation of the log. */
export type Difference = Pick<Found, "what" | "id" | "field" | "log" | "table">;

/** A tenant rebuilt from its log up to an entry, with the differences from its tables. */
export interface RebuiltState extends Rebuilt {
  /** The number and hash of that entry. */
  to: number;
  hash: string;
  /** The last entry of the log. */
  head: number;
  /** Whether the chain holds up to the entry, and the engine's decisions and the tables agree with it. */
  ok: boolean;
  differences: Difference[];
}

interface RebuildOptions {
  /** The entry to stop after (default: the last one). */
  to?: number | undefined;
  /** All keys that have sealed entries. */
  keys: readonly AuditKey[];
  onProgress?: (entries: number, of: number) => void;
}

/**
 * Recomputes the log up to an entry and compares it with the tables: with the sums of their journals up to then and, at
 * the end of the log, with the present rows. Keeps a row for each user, position and market, however long the log is. A
 * broken chain is a difference of the table `audit`; the recomputation ends before it and is compared with nothing.
 *
 * @param sql of a snapshot, so that the log and the tables are of one moment
 * @returns also the break of the chain, if there is one
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
  // The state after the last entry lasts until now; the state after any other entry lasts until the next.
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
