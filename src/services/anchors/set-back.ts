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
 * Whether the log was set back behind any of these anchors, those apart that an operator has given up on record.
 * @returns undefined when it holds them all, and for a log without a head, which is a problem of its own
 */
export async function findSetBack(
  reader: Reader,
  keys: readonly AuditKey[],
  known: readonly KnownAnchor[],
): Promise<SetBack | undefined> {
  return (await compareAnchors(await reader.read((sql) => readLog(sql, known)), reader, keys, known)).setBack;
}

/** What a log and the anchors that are known of it say of each other. */
export interface AnchorComparison {
  setBack: SetBack | undefined;
  /** All anchors but those that an operator has given up on record. */
  counting: readonly KnownAnchor[];
}

/** Compares a reading that is at hand. The rollbacks on record are asked for only when an anchor is not held. */
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
 * A row that the audit key did not seal onto the entry before it gives nothing up: its writer had the database and not
 * the key.
 */
async function acceptedRollbacks(reader: Reader, keys: readonly AuditKey[]): Promise<Rollback[]> {
  const isSealed = sealCheck(keys);
  return (await reader.read(readRollbacks)).flatMap(({ previousHash, ...entry }) =>
    isSealed(entry, previousHash) ? [rollbackOf(entry)] : [],
  );
}
