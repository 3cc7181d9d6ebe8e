import { type AuditKey, sealCheck } from "../../domain/audit/seal.ts";
import {
  anchorsNotHeld,
  type KnownAnchor,
  newestNotHeld,
  type Rollback,
  rollbackOf,
  type SetBack,
  stillMissed,
} from "../../domain/audit/set-back.ts";
import type { Reader } from "../../postgres/pool.ts";
import { type LogReading, readLog, readRollbacks } from "../../queries/evidence.ts";

/**
 * Whether the log was set back behind any of these anchors, except those whose loss an operator has accepted.
 * @returns undefined when the log contains them all, and for a log without a head, which is another problem
 */
export async function findSetBack(
  reader: Reader,
  keys: readonly AuditKey[],
  known: readonly KnownAnchor[],
): Promise<SetBack | undefined> {
  return (await compareAnchors(await reader.read((sql) => readLog(sql, known)), reader, keys, known)).setBack;
}

/** The result of comparing a log with its known anchors. */
export interface AnchorComparison {
  setBack: SetBack | undefined;
  /** All anchors but those whose loss an operator has accepted. */
  counting: readonly KnownAnchor[];
}

/** Compares a reading of the log. Accepted rollbacks are read only when the log lacks an anchor. */
export async function compareAnchors(
  { head, hashes }: LogReading,
  reader: Reader,
  keys: readonly AuditKey[],
  known: readonly KnownAnchor[],
): Promise<AnchorComparison> {
  const notHeld = head ? anchorsNotHeld(known, { head, hashes }) : [];
  if (!head || notHeld.length === 0) return { setBack: undefined, counting: known };
  const rollbacks = await acceptedRollbacks(reader, keys);
  const missed = stillMissed(notHeld, rollbacks);
  return {
    setBack: newestNotHeld(notHeld, head, rollbacks),
    counting: known.filter((each) => missed.includes(each) || !notHeld.includes(each)),
  };
}

/**
 * A rollback counts only if the audit key sealed its entry: otherwise its writer had the database but not the key.
 */
async function acceptedRollbacks(reader: Reader, keys: readonly AuditKey[]): Promise<Rollback[]> {
  const isSealed = sealCheck(keys);
  return (await reader.read(readRollbacks)).flatMap(({ previousHash, ...entry }) =>
    isSealed(entry, previousHash) ? [rollbackOf(entry)] : [],
  );
}
