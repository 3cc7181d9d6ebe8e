import type { Seal } from "./audit-link.ts";
import { type AuditKey, isMacOf } from "./seal.ts";

/**
 * A signed statement that a tenant's audit log contained this entry, to be kept where the database's owner cannot
 * change it. It depends only on the entry and the key, so every server of the tenant writes the same line.
 */
export interface AnchorLine {
  tenant: string;
  seq: number;
  /** The entry's hash, which covers every entry up to it. */
  hash: string;
  /** The entry's own time, which never decreases along the chain. */
  ts: string;
  /** The id of the signing key, which may be newer than the entry's key. */
  keyId: string;
  /** Hex. */
  signature: string;
}

/** The statement about an entry, signed with the audit key. */
export function signAnchor(tenant: string, entry: Pick<Seal, "seq" | "hash" | "ts">, key: AuditKey): AnchorLine {
  const unsigned = { tenant, seq: Number(entry.seq), hash: entry.hash, ts: entry.ts, keyId: key.id };
  return { ...unsigned, signature: key.hmac(anchorText(unsigned)) };
}

/** The anchor in a line of a file; undefined for other text, such as a line that a crash cut off. */
export function parseAnchor(text: string): AnchorLine | undefined {
  let line: Partial<Record<string, unknown>> | null;
  try {
    line = JSON.parse(text) as typeof line;
  } catch {
    return undefined;
  }
  const { tenant, seq, hash, ts, keyId, signature } = line ?? {};
  const texts = [tenant, hash, ts, keyId, signature];
  if (!Number.isSafeInteger(seq) || Number(seq) < 1 || texts.some((value) => typeof value !== "string"))
    return undefined;
  return { tenant, seq, hash, ts, keyId, signature } as AnchorLine;
}

/** Whether one of these keys signed the line. A replaced key remains valid for its earlier signatures. */
export function isGenuine(line: AnchorLine, keys: readonly AuditKey[]): boolean {
  return isMacOf(keys, line.keyId, anchorText(line), line.signature);
}

/** The format is fixed, because written lines must stay verifiable for ever. */
function anchorText({ tenant, seq, hash, ts, keyId }: Omit<AnchorLine, "signature">): string {
  return ["pmctl-anchor-v1", tenant, seq, hash, ts, keyId].join("\n");
}
