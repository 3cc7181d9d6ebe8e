import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ChainPoint } from "../engine/chain-walk.ts";

const folderOf = (directory: string) => join(directory, ".pmctl", "verified");

/**
 * How far this operator has verified the tenant's chain, as `.pmctl/verified/<tenant>.json` tells. Only
 * `audit verify --incremental` believes it.
 */
export async function readVerifiedPoint(directory: string, tenant: string): Promise<ChainPoint | undefined> {
  try {
    const text = await readFile(join(folderOf(directory), `${tenant}.json`), "utf8");
    const { seq, hash } = JSON.parse(text) as Record<string, unknown>;
    if (Number.isSafeInteger(seq) && Number(seq) > 0 && typeof hash === "string")
      return { seq: BigInt(Number(seq)), hash };
  } catch {
    // Without a point that can be read the whole chain is verified, which is never wrong.
  }
  return undefined;
}

/** Renamed into place, so that nobody reads half of it. */
export async function writeVerifiedPoint(directory: string, tenant: string, { seq, hash }: ChainPoint): Promise<void> {
  // The embedded database made the folder's rules: who may pass, and what git sees.
  const { createRoot } = await import("../store/embedded/home.ts");
  await createRoot(join(directory, ".pmctl"));
  await mkdir(folderOf(directory), { recursive: true, mode: 0o700 });
  const file = join(folderOf(directory), `${tenant}.json`);
  await writeFile(`${file}.new`, `${JSON.stringify({ seq: Number(seq), hash })}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
