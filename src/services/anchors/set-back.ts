import { auditLines } from "../../domain/audit-link.ts";
import { type AuditKey, auditHash } from "../../engine/seal.ts";
import {
  anchorsNotHeld,
  type KnownAnchor,
  newestNotHeld,
  type Rollback,
  rollbackOf,
  type SetBack,
} from "../../engine/set-back.ts";
import type { Reader } from "../../store/pool.ts";
import { type LogReading, readLog, readRollbacks } from "../../store/queries/evidence.ts";

/**
 * Whether the log was set back behind any of these anchors, those apart that an operator has given up on record.
 * @returns undefined when it holds them all, and for a log without a head, which is a problem of its own
 */
export async function findSetBack(
  reader: Reader,
  keys: readonly AuditKey[],
  known: readonly KnownAnchor[],
): Promise<SetBack | undefined> {
  return setBackIn(await reader.read((sql) => readLog(sql, known)), reader, keys, known);
}

/** The same of a reading that is at hand. The rollbacks on record are asked for only when an anchor is not held. */
export async function setBackIn(
  { head, hashes }: LogReading,
  reader: Reader,
  keys: readonly AuditKey[],
  known: readonly KnownAnchor[],
): Promise<SetBack | undefined> {
  if (!head) return undefined;
  const notHeld = anchorsNotHeld(known, { head, hashes });
  return notHeld.length === 0 ? undefined : newestNotHeld(notHeld, head, await acceptedRollbacks(reader, keys));
}

/** A row that the audit key did not seal onto the entry before it gives nothing up: whoever wrote it had the database only. */
async function acceptedRollbacks(reader: Reader, keys: readonly AuditKey[]): Promise<Rollback[]> {
  return (await reader.read(readRollbacks)).flatMap(({ previousHash, ...entry }) => {
    const key = keys.find(({ id }) => id === entry.keyId);
    if (!key || auditHash(key, previousHash, auditLines(entry)) !== entry.hash) return [];
    return [rollbackOf(entry)];
  });
}
