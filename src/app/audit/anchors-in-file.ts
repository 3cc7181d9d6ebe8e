import { constants } from "node:fs";
import { type AnchorLine, isGenuine, parseAnchor } from "../../domain/audit/anchor.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { counted } from "../../domain/text.ts";
import { openRegular } from "../../services/anchors/anchor-scan.ts";
import { type KnownAnchors, knownAnchors } from "../../services/anchors/known-anchors.ts";
import { anchorPlaces, type OperatorTenant } from "../tenant/operator-tenant.ts";

/** Proof of an entry that a command wrote. Keep it out of reach of everyone who can write to the database. */
export interface Receipt extends Omit<AnchorLine, "signature"> {
  /** Such as `market settle`. */
  command: string;
}

/** The anchors in the operator's directory, and in the files that the tenant file names. */
export function knownToOperator(tenant: OperatorTenant, keys: readonly AuditKey[]): Promise<KnownAnchors> {
  return knownAnchors({ ...anchorPlaces(tenant), tenant: tenant.id, keys });
}

/**
 * Reads the receipts and anchors of a tenant from a file. Keeps two anchors with different hashes for one entry: the
 * anchor that the log does not hold proves a set-back.
 *
 * @param note receives the number of ignored lines: anchors that none of the keys signed, or that a crash cut short
 * @throws Fault USAGE when the file has no anchor or receipt, or contains anything else
 */
export async function readAnchors(
  file: string,
  { tenant, keys, note }: { tenant: string; keys: readonly AuditKey[]; note: (message: string) => void },
): Promise<KnownAnchor[]> {
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
  // The server appends to the file, so a crash may have cut a line short.
  if (strange && genuine.length === 0)
    throw new Fault("USAGE", `${strange.where} is neither a receipt from --receipt nor an anchor`);
  const receipts = lines.flatMap(({ receipt }) => receipt ?? []);
  const ignored = lines.length - genuine.length - receipts.length;
  const known = [
    // The key of an anchor is the one that signed it.
    ...genuine.map((line) => ({ ...line, keyId: undefined, source: `anchored in ${file}` })),
    ...receipts.map((line) => ({ ...line, source: `there is a receipt for entry ${line.seq} in ${file}` })),
  ].filter((line) => line.tenant === tenant);
  if (known.length === 0) {
    const left = ignored === 0 ? "" : `; ignored: ${counted(ignored, "line")} that no audit key here signed`;
    throw new Fault("USAGE", `${file} holds no anchor and no receipt of ${tenant}${left}`);
  }
  if (ignored > 0)
    note(`${file}: ignored ${counted(ignored, "line")} that no audit key here signed, or that was cut short`);
  const anchors = known.map(({ seq, hash, ts, keyId, source }) => ({ seq: BigInt(seq), hash, ts, keyId, source }));
  return [...new Map(anchors.map((each) => [`${each.seq} ${each.hash} ${each.ts} ${each.keyId}`, each])).values()];
}

async function readRegular(file: string): Promise<string> {
  await using handle = await openRegular(file, constants.O_RDONLY);
  return await handle.readFile("utf8");
}

function parseReceipt(line: string): (Pick<Receipt, "tenant" | "seq" | "hash"> & Partial<Receipt>) | undefined {
  const { tenant, seq, hash, ts, keyId } = (parseJson(line) ?? {}) as Record<string, unknown>;
  if (typeof tenant !== "string" || typeof hash !== "string" || !Number.isSafeInteger(seq) || Number(seq) < 1)
    return undefined;
  if (!isTextIfStated(ts) || !isTextIfStated(keyId)) return undefined;
  return {
    tenant,
    seq: Number(seq),
    hash,
    ...(ts === undefined ? {} : { ts }),
    ...(keyId === undefined ? {} : { keyId }),
  };
}

function isTextIfStated(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}
