import { createHmac, timingSafeEqual } from "node:crypto";
import type { ChainPoint } from "./audit-link.ts";
import type { AuditKey } from "./seal.ts";

/** An entry of the log, up to which sums speak. */
export interface LedgerMark extends ChainPoint {
  /** The entry's time in milliseconds, which no later entry precedes. */
  ts: number;
}

/** What a comparison of the whole ledger came to. It depends on no process: every server of the tenant may rest on it. */
export interface LedgerCheckpoint extends LedgerMark {
  /** The state that the last full comparison read; milliseconds by the database's clock. */
  verifiedAt: number;
  /** Whether everything agreed. */
  ok: boolean;
  /** Hex SHA-256 of what the tables held at the mark; empty unless `ok`. */
  digest: string;
}

export interface SealedCheckpoint extends LedgerCheckpoint {
  keyId: string;
  /** Hex. */
  mac: string;
}

/** Seals a checkpoint: only with the audit key can one be written that counts. */
export function sealCheckpoint(tenant: string, checkpoint: LedgerCheckpoint, key: AuditKey): SealedCheckpoint {
  return { ...checkpoint, keyId: key.id, mac: macOf(tenant, checkpoint, key) };
}

/** Whether one of the tenant's audit keys sealed it. Replaced keys stay valid for what they sealed. */
export function isSealedCheckpoint(tenant: string, checkpoint: SealedCheckpoint, keys: readonly AuditKey[]): boolean {
  const key = keys.find(({ id }) => id === checkpoint.keyId);
  if (!key) return false;
  const [given, expected] = [Buffer.from(checkpoint.mac), Buffer.from(macOf(tenant, checkpoint, key))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function macOf(tenant: string, checkpoint: LedgerCheckpoint, { id, key }: AuditKey): string {
  const { verifiedAt, ok, seq, hash, ts, digest } = checkpoint;
  const lines = ["pmctl-ledger-checkpoint-v1", tenant, verifiedAt, ok, seq, hash, ts, digest, id];
  return createHmac("sha256", key).update(lines.join("\n")).digest("hex");
}
