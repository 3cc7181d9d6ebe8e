import { signAnchor } from "../../domain/audit/anchor.ts";
import type { AuditEntry } from "../../domain/audit/audit-link.ts";
import { otherKeyFault } from "../../domain/audit/chain-walk.ts";
import { auditKey, sealCheck } from "../../domain/audit/seal.ts";
import { anchorsNotHeld, type KnownAnchor, newestNotHeld, type SetBack } from "../../domain/audit/set-back.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import type { LeakedName } from "../../engine/access/keys.ts";
import type { Command } from "../../engine/commands.ts";
import type { ApiKey } from "../../engine/rows.ts";
import { loadDatabase } from "../../ledger/backup/backup.ts";
import { type BackupManifest, damaged } from "../../ledger/backup/backup-format.ts";
import type { Inspected } from "../../ledger/backup/backup-reader.ts";
import { leaveOutUnproven } from "../../ledger/schema.ts";
import { listApiKeys } from "../../ledger/standing.ts";
import { type Connection, connect, type Sql } from "../../postgres/connect.ts";
import { claimEmptyDatabase, emptyDatabase, finishDatabase } from "../../postgres/empty-database.ts";
import { readerOf } from "../../postgres/pool.ts";
import { createReplacement } from "../../postgres/swap-database.ts";
import { readLog } from "../../queries/evidence.ts";
import { reconcileLedger } from "../../queries/reconcile/reconcile.ts";
import { findUnexplained, readFuture } from "../../queries/reconcile/unexplained.ts";
import { appendToDirectory } from "../anchors/anchor-file.ts";
import { findSetBack, knownAnchors, writeVerifiedPoint } from "../anchors/known-anchors.ts";
import { verifyChain } from "../audit/audit-verifier.ts";
import { openTenant } from "./tenant.ts";

export interface RestoreOptions {
  tenant: string;
  /** The owner's connection to the database that the backup fills or replaces, which may be missing. */
  connection: Connection;
  /** The tenant's database, if the backup goes into another database: it knows which keys leaked. */
  own?: Connection | undefined;
  /** The login that serves, if it is not the owner's; it is granted its rights. */
  server?: string | undefined;
  /** The result of reading the whole backup. */
  inspected: Inspected;
  /** The unpacked backup, for a second reading. */
  content: AsyncIterable<Buffer>;
  /**
   * Where anchors of the tenant's log are stored: the operator's directory, and the files that the tenant file names.
   */
  directory: string;
  anchorFiles: readonly string[];
  /** Further entries that the log must contain. */
  statedAnchors: readonly KnownAnchor[];
  /** Accepts a backup that ends before the newest known anchor, with a reason; the loss is recorded. */
  acceptRollback: boolean;
  /** Secrets of the keys that seal the audit log, the current one first. */
  auditSecrets: readonly [string, ...string[]];
  /** Who restores, and why, for the audit log. */
  actor: string;
  reason: string | undefined;
  /** Called with a description of each step. */
  onStep?: (step: string) => void;
}

export interface Restored {
  /** The name under which the replaced database is kept; undefined if there was none. */
  keptAs: string | undefined;
  /** The number of known entries that the backup lacks; undefined if it contains them all. */
  lost: number | undefined;
  /** Names of keys that leaked after the backup, and are ended here too; undefined if no database knows them. */
  leakedKeys: LeakedName[] | undefined;
}

/**
 * Restores a backup into a fresh database, checks it completely, records the restore in its log, and only then swaps it
 * with the tenant's database, which is kept. If any earlier step fails, the tenant's database is untouched.
 *
 * @param options.stamp distinguishes the databases of this restore from those of others
 * @param options.confirm asks the operator once everything holds; when it throws, nothing is replaced. It gets the number of
 * entries that the replaced log has beyond the backup, undefined where that log cannot be read
 * @throws Fault INTEGRITY when the chain does not hold, does not explain all rows, or ends before a known entry;
 * REFUSED while the database is in use
 */
export async function restoreDatabase(
  options: RestoreOptions & { stamp: string; confirm: (beyond: bigint | undefined) => Promise<void> },
): Promise<Restored> {
  await requireHead(options);
  const replacement = await createReplacement(options.connection, options.stamp);
  const { keptAs } = replacement;
  try {
    const own = keptAs === undefined ? undefined : options.connection;
    const beyond = own && (await entriesBeyond(own, options.inspected));
    const { setBack, last, leakedKeys } = await fill({ ...options, own, connection: replacement.connection }, keptAs);
    await options.confirm(beyond);
    options.onStep?.("Putting it into place");
    await replacement.takeOver();
    // Only now: while the old database is in place, anchors of the new log would make it look set back.
    if (setBack) await remember(options, last);
    return { keptAs, lost: setBack && Number(setBack.lost), leakedKeys };
  } catch (error) {
    await replacement.drop().catch(() => undefined);
    throw error;
  }
}

/**
 * Restores a backup into an empty database, checks it completely and records the restore in its log. Until then the
 * database is marked as unfinished, and no process opens it; after a failure it is empty again.
 *
 * @throws Fault REFUSED if the database is not empty; INTEGRITY like `restoreDatabase`
 */
export async function restoreInto(options: RestoreOptions): Promise<Restored> {
  await requireHead(options);
  await claimEmptyDatabase(options.connection);
  try {
    const { setBack, leakedKeys } = await fill(options, undefined);
    await finishDatabase(options.connection);
    return { keptAs: undefined, lost: setBack && Number(setBack.lost), leakedKeys };
  } catch (error) {
    const said = await emptyDatabase(options.connection).then(
      () => "The database is empty again",
      () =>
        "The database contains an unfinished restore, which no process will use: drop the database and create it again before the next restore",
    );
    options.onStep?.(said);
    throw error;
  }
}

/**
 * Loads a backup into the connection's own database, checks it, and writes the entries of the restore.
 * @returns the last of these entries, the lost entries, and the keys that leaked since
 */
async function fill(
  options: RestoreOptions,
  keptAs: string | undefined,
): Promise<{ last: AuditEntry; setBack: SetBack | undefined; leakedKeys: LeakedName[] | undefined }> {
  const { connection, server, inspected, content, auditSecrets, onStep = () => {} } = options;
  onStep("Loading the backup into a fresh database");
  const { manifest, sha256 } = await loadDatabase(connection, content, server);
  if (sha256 !== inspected.sha256) throw damaged("it changed while it was being read");
  onStep("Verifying the audit chain, and every row against it");
  const setBack = await withChecks(connection, async (sql) => {
    if (inspected.keyId === undefined) await leaveOutUnproven(sql);
    await requireChain(sql, manifest, auditSecrets);
    await requirePast(sql);
    await requireExplained(sql, auditSecrets);
    return requireAnchors(sql, options);
  });
  return { ...(await record(options, { keptAs, setBack, leaked: await leakedIn(options) })), setBack };
}

/** The key values that the tenant's own database refuses as leaked; undefined if there is no such database or it cannot answer. */
async function leakedIn({ own, auditSecrets }: RestoreOptions): Promise<ApiKey[] | undefined> {
  if (own === undefined) return undefined;
  const keys = withChecks(own, (sql) => listApiKeys(sql, sealCheck(auditSecrets.map(auditKey))));
  // A restore is needed when that database is broken, so no error of that database may stop it.
  return keys.then(
    (all) => all.filter(({ leaked }) => leaked),
    () => undefined,
  );
}

/** How many entries a log has beyond the backup; undefined where it cannot be read, as of a broken database. */
async function entriesBeyond(own: Connection, { manifest }: Inspected): Promise<bigint | undefined> {
  const read = withChecks(own, (sql) => readLog(sql));
  return read.then(
    ({ last }) => last.seq - BigInt(manifest.head.seq),
    () => undefined,
  );
}

async function withChecks<Value>(connection: Connection, work: (sql: Sql) => Promise<Value>): Promise<Value> {
  const sql = connect(connection, { name: "checks", max: 2, analytical: true });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function requireChain(sql: Sql, manifest: BackupManifest, auditSecrets: readonly string[]): Promise<void> {
  const { verified, head, count, broken } = await verifyChain(readerOf(sql), auditSecrets.map(auditKey));
  if (broken?.sealedWith !== undefined) throw otherKeyFault(broken.problem);
  if (!verified)
    throw new Fault(
      "INTEGRITY",
      `The audit chain of the backup fails verification: ${broken?.problem ?? "it is broken"}`,
    );
  const { seq, hash } = manifest.head;
  if (head !== hash || Number(count) !== seq || manifest.count !== seq)
    throw new Fault("INTEGRITY", "The backup does not end with the audit entry that its first line names");
}

/** Prevents entries that follow in the log but not in time. @throws Fault REFUSED if the database's clock is behind */
async function requirePast(sql: Sql): Promise<void> {
  const future = await readFuture(sql);
  if (!future) return;
  throw new Fault(
    "REFUSED",
    `The backup holds entries of ${new Date(future.latest).toISOString()}, and the clock of the database's machine shows ${new Date(future.now).toISOString()}: set that clock, then restore again`,
  );
}

async function requireExplained(sql: Sql, auditSecrets: readonly string[]): Promise<void> {
  const checks = await reconcileLedger(sql, auditSecrets.map(auditKey));
  const off = checks.find(({ differenceMicro }) => differenceMicro !== 0n);
  if (off)
    throw new Fault("INTEGRITY", `The ledger of the backup does not reconcile: ${off.name}, ${off.places[0]?.place}`);
  const [row] = await findUnexplained(sql);
  if (row) throw new Fault("INTEGRITY", `The backup's audit log does not explain its rows: ${row.table}, ${row.place}`);
}

/**
 * Checks the file's own statement of its head and rollbacks before anything is written; `requireAnchors` checks the loaded log.
 * @throws Fault INTEGRITY if the backup ends before a known entry, unless the loss is accepted
 */
async function requireHead(options: RestoreOptions): Promise<void> {
  const { manifest, rollbacks } = options.inspected;
  const head = { seq: BigInt(manifest.head.seq), hash: manifest.head.hash };
  const notHeld = anchorsNotHeld(await anchorsOf(options), { head, hashes: new Map([[head.seq, head.hash]]) });
  requireAccepted(newestNotHeld(notHeld, head, rollbacks), options);
}

/** @throws Fault INTEGRITY if the log lacks a known entry, unless the loss is accepted */
async function requireAnchors(sql: Sql, options: RestoreOptions): Promise<SetBack | undefined> {
  const keys = options.auditSecrets.map(auditKey);
  const setBack = await findSetBack(readerOf(sql), keys, await anchorsOf(options));
  requireAccepted(setBack, options);
  return setBack;
}

async function anchorsOf(options: RestoreOptions): Promise<KnownAnchor[]> {
  const { tenant, directory, anchorFiles, statedAnchors, auditSecrets } = options;
  const keys = auditSecrets.map(auditKey);
  const { anchors } = await knownAnchors({ tenant, directory, files: anchorFiles, keys });
  return [...anchors, ...statedAnchors];
}

function requireAccepted(setBack: SetBack | undefined, { acceptRollback }: RestoreOptions): void {
  if (!setBack || acceptRollback) return;
  const { anchor, head, lost } = setBack;
  throw new Fault(
    "INTEGRITY",
    `The backup ends with entry ${head.seq}, and entry ${anchor.seq} is known (${anchor.source}): ` +
      `at least ${counted(lost, "entry", "entries")} would be lost; --accept-rollback --reason TEXT records and accepts the loss`,
  );
}

/** The entries are in the log before the database is put in place, so every restored database has them. */
async function record(
  options: RestoreOptions,
  found: { keptAs: string | null | undefined; setBack: SetBack | undefined; leaked: ApiKey[] | undefined },
): Promise<{ last: AuditEntry; leakedKeys: LeakedName[] | undefined }> {
  const { tenant, connection, inspected, auditSecrets, actor, reason } = options;
  const { keptAs = null, setBack, leaked } = found;
  const { manifest, sha256 } = inspected;
  const [auditSecret, ...previousAuditSecrets] = auditSecrets;
  const keys = { auditSecret, previousAuditSecrets };
  const services = await openTenant({ tenantId: tenant, connection, ...keys, restoring: true });
  const submit = async (command: Command) => {
    const answer = await services.sequencer.submit({ command, actor, reason });
    invariant("entry" in answer && answer.entry, "a restore is on record");
    return answer.entry;
  };
  try {
    const { created, head } = manifest;
    const restored = await submit({ type: "recordRestore", ...head, created, keptAs, sha256 });
    const leakedKeys =
      leaked &&
      (await services.sequencer.submit({ command: { type: "endLeaked", keys: leaked }, actor, reason })).result;
    if (!setBack) return { last: restored, leakedKeys };
    const [anchor, lost] = [{ seq: Number(setBack.anchor.seq), hash: setBack.anchor.hash }, Number(setBack.lost)];
    return { last: await submit({ type: "acceptRollback", anchor, head, lost }), leakedKeys };
  } finally {
    await services.close();
  }
}

/** Makes the directory's own memory continue from the log that is now in place. The recorded entry says the same. */
async function remember({ tenant, directory, auditSecrets }: RestoreOptions, last: AuditEntry): Promise<void> {
  await writeVerifiedPoint(directory, tenant, last);
  const [key, ...earlier] = auditSecrets.map(auditKey);
  invariant(key, "a tenant has an audit key");
  await appendToDirectory(directory, signAnchor(tenant, last, key), [key, ...earlier]);
}
