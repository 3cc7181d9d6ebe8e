import { Fault } from "../domain/fault.ts";
import { auditKey } from "../engine/seal.ts";
import { loadDatabase } from "../store/backup.ts";
import { type BackupManifest, damaged } from "../store/backup-format.ts";
import type { Inspected } from "../store/backup-reader.ts";
import { type Connection, connect, type Sql } from "../store/connect.ts";
import { readerOf } from "../store/pool.ts";
import { findWrongPools } from "../store/queries/opened-pools.ts";
import { reconcileLedger } from "../store/queries/reconcile.ts";
import { findUnexplained } from "../store/queries/unexplained.ts";
import { createReplacement } from "../store/swap-database.ts";
import { leaveOutVouched } from "../store/vouched-rows.ts";
import { verifyChain } from "./audit-verifier.ts";
import { openTenant } from "./tenant.ts";

export interface RestoreOptions {
  tenant: string;
  /** Of the tenant's database, which may be missing. */
  connection: Connection;
  /** What the backup said of itself when all of it was read. */
  inspected: Inspected;
  /** The unpacked backup, once more. */
  content: AsyncIterable<Buffer>;
  /** Secrets of the keys that seal the audit log, the current one first. */
  auditSecrets: readonly [string, ...string[]];
  /** Who restores, and why, for the record. */
  actor: string;
  reason: string | undefined;
  /** Tells the databases of this restore from those of others. */
  stamp: string;
  /** Told what is being done. */
  onStep?: (step: string) => void;
}

export interface Restored {
  /** The name under which the replaced database is kept; undefined when there was none. */
  keptAs: string | undefined;
}

/**
 * Restores a backup into a fresh database, checks it as a whole, says so in its log, and only then lets it take the place
 * of the tenant's own, which is kept. Whatever goes wrong before, the tenant's database has not been touched.
 *
 * @throws Fault INTEGRITY when the chain does not hold or does not explain all rows; REFUSED while the database is in use
 */
export async function restoreDatabase(options: RestoreOptions): Promise<Restored> {
  const { connection, inspected, content, auditSecrets, stamp, onStep = () => {} } = options;
  const replacement = await createReplacement(connection, stamp);
  const { keptAs } = replacement;
  try {
    onStep("Loading the backup into a fresh database");
    const { manifest, sha256 } = await loadDatabase(replacement.connection, content);
    if (sha256 !== inspected.sha256) throw damaged("it changed while it was being read");
    onStep("Verifying the audit chain, and every row against it");
    await withChecks(replacement.connection, async (sql) => {
      if (inspected.keyId === undefined) await leaveOutVouched(sql);
      await requireChain(sql, manifest, auditSecrets);
      await requireExplained(sql);
    });
    await record(options, replacement.connection, keptAs);
    onStep("Putting it into place");
    await replacement.takeOver();
    return { keptAs };
  } catch (error) {
    await replacement.drop().catch(() => undefined);
    throw error;
  }
}

async function withChecks(connection: Connection, work: (sql: Sql) => Promise<void>): Promise<void> {
  const sql = connect(connection, { name: "checks", max: 2, analytical: true });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function requireChain(sql: Sql, manifest: BackupManifest, auditSecrets: readonly string[]): Promise<void> {
  const { verified, head, count, broken } = await verifyChain(readerOf(sql), auditSecrets.map(auditKey));
  if (!verified)
    throw new Fault("INTEGRITY", `The audit chain of the backup does not hold: ${broken?.problem ?? "it is broken"}`);
  const { seq, hash } = manifest.head;
  if (head !== hash || Number(count) !== seq || manifest.count !== seq)
    throw new Fault("INTEGRITY", "The backup does not end with the audit entry that its first line names");
}

async function requireExplained(sql: Sql): Promise<void> {
  const off = (await reconcileLedger(sql)).find(({ differenceMicro }) => differenceMicro !== 0n);
  if (off) throw new Fault("INTEGRITY", `The ledger of the backup does not reconcile: ${off.name}`);
  const [row] = [...(await findUnexplained(sql)), ...(await findWrongPools(sql))];
  if (row)
    throw new Fault("INTEGRITY", `The backup holds what its audit log does not explain: ${row.table}, ${row.place}`);
}

/** The entry is in the log before the database takes its place, so no restored database is without it. */
async function record(options: RestoreOptions, connection: Connection, keptAs: string | undefined): Promise<void> {
  const { tenant, inspected, auditSecrets, actor, reason } = options;
  const { manifest, sha256 } = inspected;
  const services = await openTenant({ tenantId: tenant, connection, auditSecret: auditSecrets[0] });
  try {
    await services.sequencer.submit({
      command: { type: "recordRestore", ...manifest.head, created: manifest.created, keptAs: keptAs ?? null, sha256 },
      actor,
      reason,
    });
  } finally {
    await services.close();
  }
}
