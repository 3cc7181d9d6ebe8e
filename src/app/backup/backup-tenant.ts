import { existsSync } from "node:fs";
import { join } from "node:path";
import { displayPath } from "../../config/bounded-file.ts";
import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import { operatorText, requireOurKeys } from "../../domain/audit/chain-walk.ts";
import { auditKey } from "../../domain/audit/seal.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { confirmLog } from "../../ledger/confirm-log.ts";
import { type Connection, connect } from "../../postgres/connect.ts";
import { embeddedCluster } from "../../postgres/embedded/cluster.ts";
import { openPool, readerOf } from "../../postgres/pool.ts";
import { dropLeftovers } from "../../postgres/swap-database.ts";
import { lastKeyIds } from "../../queries/evidence.ts";
import { verifyChain } from "../../services/audit/audit-verifier.ts";
import { createStateFolder } from "../../state/state-directory.ts";
import { knownToOperator } from "../audit/anchors-in-file.ts";
import {
  anchorPlaces,
  auditSecretsOf,
  databaseUrlAtHand,
  type OperatorTenant,
  readOperatorTenant,
} from "../tenant/operator-tenant.ts";
import { openAsOwner, openAsServer, openStated } from "../tenant/tenant-database.ts";
import { type FileRequest, type WrittenBackup, writeBackup } from "./backup-file.ts";

/** A tenant's database, with the keys for its backups. */
export interface BackupTarget {
  tenant: string;
  /** Connects as the owner. */
  connection: Connection;
  /** The login that serves, where it differs from the owner's. */
  server?: string | undefined;
  /** The audit keys; the first seals new entries. */
  auditSecrets: readonly [string, ...string[]];
}

/**
 * Opens the tenant whose database is to be backed up or replaced; starts the embedded database if needed.
 * @param into the variable that names another database to fill
 */
export async function openBackupTarget(
  named: string | undefined,
  into?: string,
): Promise<{
  directory: string;
  anchorFiles: readonly string[];
  known: readonly KnownAnchor[];
  target: BackupTarget;
  /** The tenant's own database, where another database is filled. */
  own: Connection | undefined;
}> {
  const tenant = readOperatorTenant(named);
  const { id, directory } = tenant;
  const auditSecrets = auditSecretsOf(tenant);
  const database = into === undefined ? await openAsOwner(tenant) : await openStated(tenant, into);
  const { anchors: known } = await knownToOperator(tenant, auditSecrets.map(auditKey));
  return {
    directory,
    anchorFiles: anchorPlaces(tenant).files,
    known,
    target: { tenant: id, ...database, auditSecrets },
    own: into === undefined ? undefined : await ownDatabase(tenant),
  };
}

/** Connects as the login that serves; undefined without a database or a way to it, as after a loss. */
async function ownDatabase(tenant: OperatorTenant): Promise<Connection | undefined> {
  const url = databaseUrlAtHand(tenant, "url");
  const isEmbedded = tenant.config.database === "embedded";
  if (isEmbedded ? !existsSync((await embeddedCluster(tenant.directory).status()).dataDir) : url === undefined)
    return undefined;
  return openAsServer(tenant, url).then(
    ({ connection }) => connection,
    () => undefined,
  );
}

/** A file beside the directory's database, which git ignores. Two backups may fit into one second. */
export async function newBackupFile({ id, directory }: Pick<OperatorTenant, "id" | "directory">, encrypted: boolean) {
  const folder = createStateFolder(directory, "backups");
  const stamp = new Date(wallClockMs()).toISOString().replaceAll(":", "");
  return displayPath(join(folder, `${id}-${stamp}.backup.gz${encrypted ? ".age" : ""}`));
}

/**
 * Writes the tenant's database, as of one moment, into a file that its audit key authenticates.
 * @throws Fault USAGE when the file exists already, or a recipient is invalid; CONFIG_INVALID for another log's audit
 *   key, because no restore would accept the file
 */
export async function backupTenant(
  request: BackupTarget & Omit<FileRequest, "key">,
): Promise<WrittenBackup & { keyId: string }> {
  const key = auditKey(request.auditSecrets[0]);
  await requireOurLog(request);
  return { ...(await writeBackup(request.connection, { ...request, key })), keyId: key.id };
}

async function requireOurLog({ connection, auditSecrets }: BackupTarget): Promise<void> {
  const sql = connect(connection, { name: "backup", max: 1 });
  try {
    requireOurKeys(await readerOf(sql).read(lastKeyIds), auditSecrets.map(auditKey));
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const CONFIRM_TIMEOUT_MS = 10_000;
const GRACE_MS = 1000;

/**
 * The problem of the log in a backup, or of its database. It does not prevent the backup, which may be all that is
 * left of the log.
 * @param known anchors that the log must hold
 */
export async function problemOfLog(
  { connection, auditSecrets }: BackupTarget,
  known: readonly KnownAnchor[] | undefined,
): Promise<string | undefined> {
  const sql = connect(connection, { name: "checks", max: 2, analytical: true });
  let end: ChainPoint;
  try {
    const { broken, ...walked } = await verifyChain(readerOf(sql), auditSecrets.map(auditKey), { anchors: known });
    end = { seq: walked.count, hash: walked.head };
    if (broken) return `the audit log in it does not hold: ${broken.kind}, ${operatorText(broken)}`;
  } catch (error) {
    return `the audit log in it cannot be verified (${(error as Error).message})`;
  } finally {
    await sql.end({ timeout: 5 });
  }
  return (await isConfirmed(connection, end))
    ? undefined
    : "the database does not confirm its last entries, which may be lost with its primary";
}

async function isConfirmed(connection: Connection, entry: ChainPoint): Promise<boolean> {
  const terms = { name: "backup", statementTimeoutMs: CONFIRM_TIMEOUT_MS };
  const pool = openPool((max) => connect(connection, { ...terms, max }), {
    max: 1,
    deadlineMs: CONFIRM_TIMEOUT_MS + GRACE_MS,
  });
  const outcome = confirmLog(pool, entry).then(
    () => true,
    () => false,
  );
  return outcome.finally(() => pool.end({ timeout: 1 }));
}

/** Drops the databases that interrupted restores left behind. @param note receives the name of each */
export async function dropUnfinishedRestores(
  { connection }: Pick<BackupTarget, "connection">,
  note: (message: string) => void,
): Promise<void> {
  const dropped = await dropLeftovers(connection).catch(() => []);
  for (const name of dropped) note(`Dropped ${name}, a copy that an interrupted restore had left behind`);
}
