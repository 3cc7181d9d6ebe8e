import { readFile } from "node:fs/promises";
import type { ChainPoint } from "../../domain/audit/audit-link.ts";
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
import { createStateFolder, statePath, writeWhole } from "../../state/state-directory.ts";
import { directoryAnchors } from "./anchor-file.ts";
import { AnchorScan } from "./anchor-scan.ts";

/** Where the known entries of a tenant's log are stored. */
export interface AnchorSources {
  tenant: string;
  /** The operator's directory. */
  directory: string;
  /** The absolute paths of the files in `audit.anchors` of the tenant file. */
  files: readonly string[];
  /** The audit key and its predecessors. */
  keys: readonly AuditKey[];
}

/** The anchors of all sources. */
export interface KnownAnchors {
  anchors: KnownAnchor[];
  /** What was ignored, each with the reason: lines that none of our keys signed, unreadable files. */
  faults: string[];
}

/** Scans of the sources' files. A caller that keeps them later reads only appended lines. */
export function scansOf({ tenant, directory, files, keys }: AnchorSources): AnchorScan[] {
  return [directoryAnchors(directory, tenant), ...files].map((file) => new AnchorScan(file, tenant, keys));
}

/** All known anchors: those in the directory's own file and in the tenant file's files, and the verified point. */
export async function knownAnchors(
  sources: AnchorSources,
  scans: readonly AnchorScan[] = scansOf(sources),
): Promise<KnownAnchors> {
  const anchors: KnownAnchor[] = [];
  const faults: string[] = [];
  for (const scan of scans) {
    const found = await scan.read();
    anchors.push(...found.anchors);
    faults.push(...found.faults);
  }
  const verified = await readVerifiedPoint(sources.directory, sources.tenant);
  if (verified) {
    // A verification does not learn the entry's time, but an anchor of the same entry has it.
    const twin = anchors.find(({ seq, hash }) => seq === verified.seq && hash === verified.hash);
    anchors.push({ ...verified, ts: verified.ts ?? twin?.ts, source: "verified before" });
  }
  return { anchors, faults };
}

/** An entry up to which the chain was verified, with the entry's time if known. */
export interface VerifiedPoint extends ChainPoint {
  ts?: string | undefined;
}

/** `.pmctl/verified/<tenant>.json` of an operator's directory. */
export function verifiedPointFile(directory: string, tenant: string): string {
  return statePath(directory, "verified", `${tenant}.json`);
}

/**
 * How far this operator has verified the tenant's chain, from `.pmctl/verified/<tenant>.json`. `audit verify
 * --incremental` begins there, and a log without that entry was set back.
 */
export async function readVerifiedPoint(directory: string, tenant: string): Promise<VerifiedPoint | undefined> {
  try {
    const text = await readFile(verifiedPointFile(directory, tenant), "utf8");
    const { seq, hash, ts } = JSON.parse(text) as Record<string, unknown>;
    if (Number.isSafeInteger(seq) && Number(seq) > 0 && typeof hash === "string")
      return { seq: BigInt(Number(seq)), hash, ts: typeof ts === "string" ? ts : undefined };
  } catch {
    // Without a readable point the whole chain is verified, which is always correct.
  }
  return undefined;
}

/** Moves the point up, never down: a shorter chain that verifies is not the known chain. */
export async function raiseVerifiedPoint(directory: string, tenant: string, point: VerifiedPoint): Promise<void> {
  const kept = await readVerifiedPoint(directory, tenant);
  if (!kept || point.seq > kept.seq) await writeVerifiedPoint(directory, tenant, point);
}

export async function writeVerifiedPoint(directory: string, tenant: string, point: VerifiedPoint): Promise<void> {
  createStateFolder(directory, "verified");
  const { seq, hash, ts } = point;
  writeWhole(verifiedPointFile(directory, tenant), `${JSON.stringify({ seq: Number(seq), hash, ts })}\n`);
}

/**
 * Whether the log was set back before any of these anchors, except those whose loss an operator has accepted.
 * @returns undefined if the log contains them all, and for a log without a head, which is another problem
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
  /** All anchors except those whose loss an operator has accepted. */
  counting: readonly KnownAnchor[];
}

/** Compares a reading of the log. Accepted rollbacks are read only if the log lacks an anchor. */
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
 * A rollback counts only if the audit key sealed its entry. Otherwise its writer could access the database but not the key.
 */
async function acceptedRollbacks(reader: Reader, keys: readonly AuditKey[]): Promise<Rollback[]> {
  const isSealed = sealCheck(keys);
  return (await reader.read(readRollbacks)).flatMap(({ previousHash, ...entry }) =>
    isSealed(entry, previousHash) ? [rollbackOf(entry)] : [],
  );
}
