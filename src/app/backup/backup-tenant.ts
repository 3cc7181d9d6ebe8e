import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { displayPath } from "../../config/config-file.ts";
import { operatorText } from "../../domain/audit/chain-walk.ts";
import { auditKey } from "../../domain/audit/seal.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { type Connection, connect } from "../../postgres/connect.ts";
import { createRoot } from "../../postgres/embedded/home.ts";
import { readerOf } from "../../postgres/pool.ts";
import { dropLeftovers } from "../../postgres/swap-database.ts";
import { verifyChain } from "../../services/audit/audit-verifier.ts";
import { knownToOperator } from "../audit/known-to-operator.ts";
import { anchorPlaces, auditSecretsOf, type OperatorTenant, readOperatorTenant } from "../tenant/operator-tenant.ts";
import { openAsOwner } from "../tenant/tenant-database.ts";
import { type WrittenBackup, writeBackup } from "./backup-file.ts";

/** A tenant's database, with what a backup and a restore need of the tenant. */
export interface BackupTarget {
  tenant: string;
  /** As the owner. */
  connection: Connection;
  /** The login that serves, where it is not the owner's. */
  server?: string | undefined;
  /** Of the audit keys, the one that seals new entries first. */
  auditSecrets: readonly [string, ...string[]];
}

/** The tenant whose database is to be backed up or replaced; starts the embedded one if need be. */
export async function openBackupTarget(named: string | undefined): Promise<{
  directory: string;
  anchorFiles: readonly string[];
  known: readonly KnownAnchor[];
  target: BackupTarget;
}> {
  const tenant = readOperatorTenant(named);
  const { id, directory } = tenant;
  const auditSecrets = auditSecretsOf(tenant);
  const database = await openAsOwner(tenant);
  const { anchors: known } = await knownToOperator(tenant, auditSecrets.map(auditKey));
  return {
    directory,
    anchorFiles: anchorPlaces(tenant).files,
    known,
    target: { tenant: id, ...database, auditSecrets },
  };
}

/** A file beside the directory's database, which git ignores. */
export async function newBackupFile({ id, directory }: Pick<OperatorTenant, "id" | "directory">, encrypted: boolean) {
  const folder = join(directory, ".pmctl", "backups");
  // The embedded database made the folder's rules: who may pass, and what git sees.
  await createRoot(join(directory, ".pmctl"));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const stamp = new Date(wallClockMs()).toISOString().slice(0, 19).replaceAll(":", "");
  return displayPath(join(folder, `${id}-${stamp}Z.backup.gz${encrypted ? ".age" : ""}`));
}

export interface BackupRequest extends BackupTarget {
  /** The new file. */
  file: string;
  /** Who may read it, as `age` names them; without any, everyone who gets hold of the file. */
  recipients: readonly string[];
  /** Told how many bytes the database has given so far. */
  onProgress: (bytes: number) => void;
}

/**
 * Writes the tenant's database, as of one moment, into a file that its audit key authenticates.
 * @throws Fault USAGE when the file exists already, or a recipient is none
 */
export async function backupTenant(request: BackupRequest): Promise<WrittenBackup & { keyId: string }> {
  const key = auditKey(request.auditSecrets[0]);
  return { ...(await writeBackup(request.connection, { ...request, key })), keyId: key.id };
}

/**
 * What is wrong with the log that was backed up; a backup of it may be all that is left, so it is told and not refused.
 * @param known what the log is known to have held
 */
export async function problemOfLog(
  { connection, auditSecrets }: BackupTarget,
  known: readonly KnownAnchor[] | undefined,
): Promise<string | undefined> {
  const sql = connect(connection, { name: "checks", max: 2, analytical: true });
  try {
    const { broken } = await verifyChain(readerOf(sql), auditSecrets.map(auditKey), { anchors: known });
    return broken && `${broken.kind}, ${operatorText(broken)}`;
  } catch (error) {
    return `it cannot be verified (${(error as Error).message})`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Drops what restores that did not end have left. @param note told of each: a database that vanishes would be looked for */
export async function dropUnfinishedRestores(
  { connection }: Pick<BackupTarget, "connection">,
  note: (message: string) => void,
): Promise<void> {
  const dropped = await dropLeftovers(connection).catch(() => []);
  for (const name of dropped) note(`A restore that did not end had left a copy behind: dropped ${name}`);
}
