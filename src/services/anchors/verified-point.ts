import { readFile } from "node:fs/promises";
import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import { createStateFolder, statePath, writeWhole } from "../../state/state-directory.ts";

/** An entry up to which the chain was verified, with its own time where that is known. */
export interface VerifiedPoint extends ChainPoint {
  ts?: string | undefined;
}

/** `.pmctl/verified/<tenant>.json` of an operator's directory. */
export function verifiedPointFile(directory: string, tenant: string): string {
  return statePath(directory, "verified", `${tenant}.json`);
}

/**
 * How far this operator has verified the tenant's chain, from `.pmctl/verified/<tenant>.json`. `audit verify
 * --incremental` begins there, and a log that does not hold it any more was set back.
 */
export async function readVerifiedPoint(directory: string, tenant: string): Promise<VerifiedPoint | undefined> {
  try {
    const text = await readFile(verifiedPointFile(directory, tenant), "utf8");
    const { seq, hash, ts } = JSON.parse(text) as Record<string, unknown>;
    if (Number.isSafeInteger(seq) && Number(seq) > 0 && typeof hash === "string")
      return { seq: BigInt(Number(seq)), hash, ts: typeof ts === "string" ? ts : undefined };
  } catch {
    // Without a readable point the whole chain is verified, which is always right.
  }
  return undefined;
}

/** Moves the point up, never down: a shorter chain that verifies is not the one that was known. */
export async function raiseVerifiedPoint(directory: string, tenant: string, point: VerifiedPoint): Promise<void> {
  const kept = await readVerifiedPoint(directory, tenant);
  if (!kept || point.seq > kept.seq) await writeVerifiedPoint(directory, tenant, point);
}

export async function writeVerifiedPoint(directory: string, tenant: string, point: VerifiedPoint): Promise<void> {
  createStateFolder(directory, "verified");
  const { seq, hash, ts } = point;
  writeWhole(verifiedPointFile(directory, tenant), `${JSON.stringify({ seq: Number(seq), hash, ts })}\n`);
}
