import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { displayPath } from "../../config/config-file.ts";
import { auditKey } from "../../domain/audit/seal.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import type { Connection } from "../../postgres/connect.ts";
import { anchorPlaces, knownToOperator } from "../tenant/anchor-sources.ts";
import { openAsOwner } from "../tenant/database.ts";
import { auditSecretsOf, databaseUrlsOf, readOperatorTenant } from "../tenant/operator-tenant.ts";

/** A tenant's database, with what the two commands need of the tenant. */
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
  const database = await openAsOwner(directory, id, databaseUrlsOf(tenant));
  const { anchors: known } = await knownToOperator(tenant, auditSecrets.map(auditKey));
  const target = { tenant: id, ...database, auditSecrets };
  return { directory, anchorFiles: anchorPlaces(tenant).files, known, target };
}

/** A file beside the directory's database, which git ignores. */
export async function newBackupFile(
  directory: string,
  tenant: string,
  { now, encrypted }: { now: number; encrypted: boolean },
) {
  const folder = join(directory, ".pmctl", "backups");
  // The embedded database made the folder's rules: who may pass, and what git sees.
  const { createRoot } = await import("../../postgres/embedded/home.ts");
  await createRoot(join(directory, ".pmctl"));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(":", "");
  return displayPath(join(folder, `${tenant}-${stamp}Z.backup.gz${encrypted ? ".age" : ""}`));
}
