import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import { createRoot } from "../../postgres/embedded/home.ts";

/** An entry up to which the chain was verified, with its own time where that is known. */
export interface VerifiedPoint extends ChainPoint {
  ts?: string | undefined;
}

const folderOf = (directory: string) => join(directory, ".pmctl", "verified");

/** `.pmctl/verified/<tenant>.json` of an operator's directory. */
export function verifiedPointFile(directory: string, tenant: string): string {
  return join(folderOf(directory), `${tenant}.json`);
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

/** Renamed into place, so that no reader sees half of it. */
export async function writeVerifiedPoint(directory: string, tenant: string, point: VerifiedPoint): Promise<void> {
  // The folder needs the same permissions and .gitignore as for the embedded database.
  await createRoot(join(directory, ".pmctl"));
  await mkdir(folderOf(directory), { recursive: true, mode: 0o700 });
  const file = verifiedPointFile(directory, tenant);
  const { seq, hash, ts } = point;
  await writeFile(`${file}.new`, `${JSON.stringify({ seq: Number(seq), hash, ts })}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
