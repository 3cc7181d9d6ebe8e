import { auditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import type { BackupManifest } from "../../ledger/backup/backup-format.ts";
import { inspectBackup } from "../../ledger/backup/backup-reader.ts";
import { MAC_TABLES } from "../../ledger/schema.ts";
import type { Connection } from "../../postgres/connect.ts";
import { type Restored, restoreDatabase, restoreInto } from "../../services/tenant/restore.ts";
import { readAnchors } from "../audit/anchors-in-file.ts";
import { checkReason, operatorActor } from "../tenant/actor.ts";
import { openBackup } from "./backup-file.ts";
import { type BackupTarget, dropUnfinishedRestores } from "./backup-tenant.ts";

export interface RestoreRequest extends BackupTarget {
  file: string;
  /** The variable with the address of `connection`, which is empty and not yet the tenant's database. */
  into?: string | undefined;
  /** The tenant's own database, where `into` names another one: it knows which keys leaked. */
  own?: Connection | undefined;
  /** A file of anchors or receipts that the restored log must hold. */
  anchor?: string | undefined;
  /** The operator's directory, which has anchors of the tenant's log. */
  directory: string;
  /** The absolute paths of `audit.anchors` of the tenant file that are files. */
  anchorFiles: readonly string[];
  /** In milliseconds since 1970. */
  now: number;
  reason?: string | undefined;
  /** The file of the age key that decrypts the backup. */
  identity?: string | undefined;
  /** Accepts a file that no audit key authenticates. */
  allowUnauthenticated?: boolean | undefined;
  /** Accepts a backup without entries that an anchor proves. */
  acceptRollback?: boolean | undefined;
}

export interface RestoredTenant extends Restored {
  manifest: BackupManifest;
  /** Hash of the content. */
  sha256: string;
  /** The audit key that authenticates it; undefined for a file without a `mac`. */
  keyId: string | undefined;
  encrypted: boolean;
}

/**
 * Verifies a backup, then replaces the tenant's database by it or fills an empty one with it.
 *
 * @param confirm asks the operator, after every check, before a database is replaced; when it throws, none is
 * @param note receives each step, and what is left out
 * @throws Fault INTEGRITY (exit code 8) when the backup does not verify; nothing has been replaced then
 */
export async function restoreTenant(...given: Parameters<typeof restoreVerified>): Promise<RestoredTenant> {
  try {
    return await restoreVerified(...given);
  } catch (error) {
    // The backup is not sound: the commands that look for the cause would examine the tenant's present database.
    if (error instanceof Fault && error.code === "INTEGRITY")
      throw new Fault(error.code, error.message, { detail: error.detail, cause: error, next: null });
    throw error;
  }
}

async function restoreVerified(
  request: RestoreRequest,
  confirm: (manifest: BackupManifest, beyond: bigint | undefined) => Promise<void>,
  note: (message: string) => void,
): Promise<RestoredTenant> {
  const { tenant, file, into, anchor, auditSecrets, now } = request;
  const reason = checkReason(request.reason);
  const acceptRollback = request.acceptRollback === true;
  if (acceptRollback && reason === undefined) throw new Fault("USAGE", "--accept-rollback needs --reason TEXT");
  const keys = auditSecrets.map(auditKey);
  const statedAnchors = anchor === undefined ? [] : await readAnchors(anchor, { tenant, keys, note });
  const { encrypted, content } = await openBackup(file, request.identity);
  note("Verifying the file");
  const inspected = await inspectBackup(content(), { tenant, keys });
  const { manifest, sha256, keyId } = inspected;
  if (keyId === undefined) permitUnauthenticated(request, note);
  const options = {
    ...request,
    ...{ inspected, reason, acceptRollback, content: content(), actor: operatorActor(), onStep: note },
    statedAnchors,
  };
  const told = { manifest, sha256, keyId, encrypted };
  if (into !== undefined) return { ...(await restoreInto(options)), ...told };
  await dropUnfinishedRestores(request, note);
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/\D/g, "");
  return { ...(await restoreDatabase({ ...options, stamp, confirm: (beyond) => confirm(manifest, beyond) })), ...told };
}

/** Notes what is left out of an unauthenticated file. @throws Fault INTEGRITY unless the operator accepts it */
function permitUnauthenticated({ file, allowUnauthenticated }: RestoreRequest, note: (message: string) => void): void {
  if (allowUnauthenticated !== true)
    throw new Fault(
      "INTEGRITY",
      `${file} has no mac, so its author is unknown; --allow-unauthenticated restores what the chain explains`,
    );
  note(`No key authenticates this file: what is not in the log is left out (${MAC_TABLES.join(", ")}, API keys)`);
}
