import { Fault } from "../domain/fault.ts";
import { auditKey } from "../engine/seal.ts";
import { loadDatabase } from "../store/backup.ts";
import type { BackupManifest } from "../store/backup-format.ts";
import { type Connection, connect } from "../store/connect.ts";
import { readerOf } from "../store/pool.ts";
import { reconcileLedger } from "../store/queries/reconcile.ts";
import { createReplacement } from "../store/swap-database.ts";
import { verifyChain } from "./audit-verifier.ts";

export interface RestoreOptions {
  /** Of the tenant's database, which may be missing. */
  connection: Connection;
  /** The unpacked backup. */
  content: AsyncIterable<Buffer>;
  /** Secrets of the keys that seal the audit log, those of the past too. */
  auditSecrets: readonly string[];
  /** Tells the databases of this restore from those of others. */
  stamp: string;
  /** Told what is being done. */
  onStep?: (step: string) => void;
}

export interface Restored {
  manifest: BackupManifest;
  /** The name under which the replaced database is kept; undefined when there was none. */
  keptAs: string | undefined;
}

/**
 * Restores a backup into a fresh database, checks it as a whole, and only then lets it take the place of the tenant's
 * own, which is kept. Whatever goes wrong before, the tenant's database has not been touched.
 *
 * @throws Fault INTEGRITY when the backup, its chain or its ledger does not hold; REFUSED while the database is in use
 */
export async function restoreDatabase(options: RestoreOptions): Promise<Restored> {
  const { connection, content, auditSecrets, stamp, onStep = () => {} } = options;
  const replacement = await createReplacement(connection, stamp);
  try {
    onStep("Loading the backup into a fresh database");
    const manifest = await loadDatabase(replacement.connection, content);
    onStep("Verifying the audit chain and the ledger");
    await check(replacement.connection, manifest, auditSecrets);
    onStep("Putting it into place");
    return { manifest, keptAs: await replacement.takeOver() };
  } catch (error) {
    await replacement.drop().catch(() => undefined);
    throw error;
  }
}

async function check(connection: Connection, manifest: BackupManifest, auditSecrets: readonly string[]): Promise<void> {
  const sql = connect(connection, { name: "checks", max: 2, analytical: true });
  try {
    const { verified, head, count, broken } = await verifyChain(readerOf(sql), auditSecrets.map(auditKey));
    if (!verified)
      throw new Fault("INTEGRITY", `The audit chain of the backup does not hold: ${broken?.problem ?? "it is broken"}`);
    if (head !== manifest.head.hash || Number(count) !== manifest.head.seq)
      throw new Fault("INTEGRITY", "The backup does not end with the audit entry that its first line names");
    const off = (await reconcileLedger(sql)).find(({ differenceMicro }) => differenceMicro !== 0n);
    if (off) throw new Fault("INTEGRITY", `The ledger of the backup does not reconcile: ${off.name}`);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
