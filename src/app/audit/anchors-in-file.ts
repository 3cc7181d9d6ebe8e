import { constants } from "node:fs";
import { isGenuine, parseAnchor } from "../../domain/audit/anchor.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { openRegular } from "../../services/anchors/anchor-scan.ts";

/** Proof of what a command put on record, to be kept out of reach of everyone who can write to the database. */
export interface Receipt {
  tenant: string;
  seq: number;
  /** The entry's hash: an HMAC under the audit key over this entry and all before it. */
  hash: string;
  ts: string;
  keyId: string;
  /** Such as `market settle`. */
  command: string;
}

/** What a file says that a log has held. */
export interface ReadAnchors {
  /** Of two anchors for one entry with different hashes both are kept: the one that the log does not hold proves a set-back. */
  anchors: KnownAnchor[];
  /** Anchors that none of the keys signed, and lines of a file of anchors that a crash cut short. */
  ignored: number;
}

/**
 * The receipts and anchors of a tenant in a file. An anchor that none of the keys signed counts for nothing.
 * @throws Fault USAGE when it holds none, or anything else
 */
export async function readAnchors(file: string, tenant: string, keys: readonly AuditKey[]): Promise<ReadAnchors> {
  const text = await readRegular(file).catch((cause: unknown) => {
    throw new Fault("USAGE", `--anchor ${file} cannot be read: ${(cause as Error).message}`, { cause });
  });
  const lines = text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    const anchor = parseAnchor(line);
    return [{ anchor, receipt: anchor ? undefined : parseReceipt(line), where: `${file}:${index + 1}` }];
  });
  const genuine = lines.flatMap(({ anchor }) => (anchor && isGenuine(anchor, keys) ? [anchor] : []));
  const strange = lines.find(({ anchor, receipt }) => !anchor && !receipt);
  // A file that the server appends to may hold a line that a crash cut short.
  if (strange && genuine.length === 0)
    throw new Fault("USAGE", `${strange.where} is not a receipt as --receipt writes it, nor an anchor`);
  const receipts = lines.flatMap(({ receipt }) => receipt ?? []);
  const ignored = lines.length - genuine.length - receipts.length;
  const known = [
    ...genuine.map((line) => ({ ...line, source: `anchored in ${file}` })),
    ...receipts.map((line) => ({ ...line, source: `there is a receipt for entry ${line.seq} in ${file}` })),
  ].filter((line) => line.tenant === tenant);
  if (known.length === 0) {
    const left = ignored === 0 ? "" : `; ignored: ${counted(ignored, "line")} that no audit key of ours signed`;
    throw new Fault("USAGE", `${file} holds no anchor and no receipt of ${tenant}${left}`);
  }
  const anchors = known.map(({ seq, hash, ts, source }) => ({ seq: BigInt(seq), hash, ts, source }));
  return { anchors: [...new Map(anchors.map((each) => [`${each.seq} ${each.hash}`, each])).values()], ignored };
}

async function readRegular(file: string): Promise<string> {
  await using handle = await openRegular(file, constants.O_RDONLY);
  return await handle.readFile("utf8");
}

function parseReceipt(line: string): (Pick<Receipt, "tenant" | "seq" | "hash"> & { ts?: string }) | undefined {
  try {
    const { tenant, seq, hash, ts } = JSON.parse(line) as Record<string, unknown>;
    const time = typeof ts === "string" ? { ts } : {};
    if (typeof tenant === "string" && typeof hash === "string" && Number.isSafeInteger(seq) && Number(seq) > 0)
      return { tenant, seq: Number(seq), hash, ...time };
  } catch {
    // Not JSON, so not a receipt.
  }
  return undefined;
}
