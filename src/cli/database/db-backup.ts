import type { Command } from "commander";
import type { BackupTarget } from "../../app/backup/backup-target.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import type { BackupManifest } from "../../postgres/backup/backup-format.ts";
import type { Connection } from "../../postgres/connect.ts";
import type { Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { identifier } from "../input/parsers.ts";
import { mustAsk } from "../input/prompts.ts";
import { time } from "../output/cells.ts";
import type { View } from "../output/output.ts";

/** What both commands print of a backup. */
interface ShownBackup extends Omit<BackupManifest, "migrations"> {
  file: string;
  /** Of the content. */
  sha256: string;
  /** The audit key that authenticates it; null for a file of the former format. */
  keyId: string | null;
  encrypted: boolean;
}

interface Backup extends ShownBackup {
  bytes: number;
}

interface RestoredBackup extends ShownBackup {
  /** The database that was replaced, under its new name. */
  keptAs: string | null;
}

export interface BackupOptions extends BackupTarget {
  file: string;
  /** What the log is known to have held. */
  known?: readonly KnownAnchor[] | undefined;
  encryptTo?: readonly string[] | undefined;
}

/** What an operator may say about a restore. */
interface RestoreFlags {
  yes?: boolean | undefined;
  reason?: string | undefined;
  identity?: string | undefined;
  allowUnauthenticated?: boolean | undefined;
  acceptRollback?: boolean | undefined;
}

export interface RestoreOptions extends BackupTarget, RestoreFlags {
  file: string;
  /** The operator's directory, which remembers how far the tenant's log had come. */
  directory: string;
  /** `audit.anchors` of the tenant file that are files, absolute. */
  anchorFiles: readonly string[];
  /** Milliseconds since the epoch. */
  now: number;
}

export function registerBackup(noun: Command, host: Host): void {
  noun
    .command("backup")
    .description("write the tenant's database, as of one moment, into a file")
    .argument("[file]", "the new file (default: .pmctl/backups/TENANT-TIME.backup.gz)", identifier)
    .option("--out <file>", "the new file, instead of the argument", identifier)
    .option("--encrypt-to <recipient>", "encrypt it to a key of age (age1…); again: to more of them", collected)
    .addHelpText("after", BACKUP_NOTE)
    .action(
      host.action<{ out?: string; encryptTo?: string[] }>(async ({ options, args: [argument], io }) => {
        const [{ openBackupTarget, newBackupFile }, { wallClockMs }] = await Promise.all([
          import("../../app/backup/backup-target.ts"),
          import("../../domain/clock.ts"),
        ]);
        const { encryptTo, out } = options;
        const { directory, known, target } = await openBackupTarget(options.tenant);
        const terms = { now: wallClockMs(), encrypted: encryptTo !== undefined };
        const file = argument ?? out ?? (await newBackupFile(directory, target.tenant, terms));
        return runDbBackup({ ...target, file, encryptTo, known }, io);
      }),
    );
  noun
    .command("restore")
    .description("put a backup into the place of the tenant's database, once it has been verified")
    .argument("<file>", "a file of `db backup`", identifier)
    .option("--identity <file>", "the age key that decrypts it, as age-keygen writes it", identifier)
    .option("--allow-unauthenticated", "take a file of an older pmctl, which no audit key authenticates")
    .option("--accept-rollback", "go on although entries that are known are not in it; needs --reason")
    .addHelpText("after", RESTORE_NOTE)
    .action(
      host.action<RestoreFlags>(async ({ options, args: [file = ""], io }) => {
        mustAsk(options, io.prompts);
        const [{ openBackupTarget }, { wallClockMs }] = await Promise.all([
          import("../../app/backup/backup-target.ts"),
          import("../../domain/clock.ts"),
        ]);
        const { directory, anchorFiles, target } = await openBackupTarget(options.tenant);
        return runDbRestore({ ...options, ...target, directory, anchorFiles, file, now: wallClockMs() }, io);
      }),
    );
}

/** Stated where an operator decides: plain text is the default because a lost age key would lose every backup. */
const BACKUP_NOTE = `
The file is authenticated with the tenant's audit key: who changes it makes it useless. It is not encrypted unless you
say to whom, because a backup whose key is lost is none: it holds people's trades, names and balances in clear, and only
the file's mode (0600) protects it. Encrypt what leaves the machine; any of the recipients can decrypt it, with pmctl or
with age itself.`;

const RESTORE_NOTE = `
Everything is verified before anything is replaced: the file under the audit key, the chain, and every row against the
chain. The replaced database is kept under another name, and the restored log says that it was restored.`;

function collected(value: string, before: string[] = []): string[] {
  return [...before, identifier(value)];
}

const shownFields = ({ tenant, created, head, count, schemaVersion, sha256, keyId, encrypted }: ShownBackup) =>
  [
    ["tenant", tenant],
    ["created", time(created, { seconds: true })],
    ["audit entries", String(count)],
    ["audit head", `${head.seq} ${head.hash}`],
    ["schema", String(schemaVersion)],
    ["sha256", sha256],
    ["authenticated by", keyId ?? "nothing"],
    ["encrypted", encrypted ? "yes" : "no"],
  ] as const;

const backupView: View<Backup, Backup> = {
  kind: "record",
  fields: (backup) => [["file", backup.file], ...shownFields(backup), ["bytes", String(backup.bytes)]],
};

const restoredView: View<RestoredBackup, RestoredBackup> = {
  kind: "record",
  fields: (restored) => [
    ["file", restored.file],
    ...shownFields(restored),
    ["replaced database", restored.keptAs ?? "there was none"],
  ],
};

/** @throws Fault USAGE when the file exists already, or a recipient is none */
export async function runDbBackup(options: BackupOptions, { output }: Io): Promise<ExitCode> {
  const { tenant, connection, file, auditSecrets, encryptTo: recipients = [] } = options;
  const [{ writeBackup }, { auditKey }] = await Promise.all([
    import("../../app/backup/backup-file.ts"),
    import("../../domain/audit/seal.ts"),
  ]);
  await tidy(connection, output);
  const key = auditKey(auditSecrets[0]);
  const onProgress = (written: number) => output.progress(`${(written / 1e6).toFixed(1)} MB`);
  const written = await writeBackup(connection, { tenant, file, key, recipients, onProgress });
  const { migrations: _, ...manifest } = written.manifest;
  const { sha256, bytes } = written;
  const encrypted = recipients.length > 0;
  await output.print({ file, ...manifest, sha256, keyId: key.id, encrypted, bytes }, backupView);
  const problem = await problemOfLog(options);
  if (problem !== undefined)
    output.note(`${file} is written, of an audit log that does not hold: ${problem}. A restore of it may be refused.`);
  return EXIT.ok;
}

/** What is wrong with the log that was written; a backup of it may be all that is left, so it is told and not refused. */
async function problemOfLog({ connection, auditSecrets, known }: BackupOptions): Promise<string | undefined> {
  const [{ connect }, { readerOf }, { verifyChain }, { operatorText }, { auditKey }] = await Promise.all([
    import("../../postgres/connect.ts"),
    import("../../postgres/pool.ts"),
    import("../../services/audit/audit-verifier.ts"),
    import("../../domain/audit/chain-walk.ts"),
    import("../../domain/audit/seal.ts"),
  ]);
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

/**
 * Restores a backup of this tenant, after the operator has typed its name.
 *
 * @throws Fault INTEGRITY (exit code 8) when the backup does not verify; then nothing has been replaced
 */
export async function runDbRestore(options: RestoreOptions, io: Io): Promise<ExitCode> {
  const { tenant, connection, server, directory, anchorFiles, file, auditSecrets, now, identity } = options;
  const [
    { openBackup },
    { inspectBackup },
    { restoreDatabase },
    { auditKey },
    { checkReason, operatorActor },
    { Fault },
  ] = await Promise.all([
    import("../../app/backup/backup-file.ts"),
    import("../../postgres/backup/backup-reader.ts"),
    import("../../services/tenant/restore.ts"),
    import("../../domain/audit/seal.ts"),
    import("../../app/tenant/session.ts"),
    import("../../domain/fault.ts"),
  ]);
  const reason = checkReason(options.reason);
  const acceptRollback = options.acceptRollback === true;
  if (acceptRollback && reason === undefined) throw new Fault("USAGE", "--accept-rollback needs --reason TEXT");
  const { encrypted, content } = await openBackup(file, identity);
  io.output.note("Verifying the file");
  const inspected = await inspectBackup(content(), { tenant, keys: auditSecrets.map(auditKey) });
  const { manifest, sha256, keyId } = inspected;
  if (keyId === undefined) await permitUnauthenticated(options, io);
  if (mustAsk(options, io.prompts)) {
    io.output.note(
      [
        `${file} holds ${tenant} as of ${time(manifest.created, { seconds: true })}, ${manifest.count} audit entries.`,
        "  Whatever happened since is not in it. The database that it replaces is kept under another name.",
      ].join("\n"),
    );
    await io.prompts.type("To replace the tenant's database, type the tenant's name", tenant);
  }
  await tidy(connection, io.output);
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/\D/g, "");
  const { keptAs = null, lost } = await restoreDatabase({
    ...{ tenant, connection, server, directory, anchorFiles, auditSecrets, inspected, stamp, reason, acceptRollback },
    content: content(),
    actor: operatorActor(),
    onStep: (step) => io.output.note(step),
  });
  if (lost !== undefined)
    io.output.note(`The rollback is on record: ${lost} known entries are not in the log any more`);
  const { migrations: _, ...shown } = manifest;
  await io.output.print({ file, ...shown, sha256, keyId: keyId ?? null, encrypted, keptAs }, restoredView);
  return EXIT.ok;
}

/** Says what it removed: a database that vanishes without a word would be looked for. */
async function tidy(connection: Connection, output: Io["output"]): Promise<void> {
  const { dropLeftovers } = await import("../../postgres/backup/swap-database.ts");
  const dropped = await dropLeftovers(connection).catch(() => []);
  for (const name of dropped) output.note(`A restore that did not end had left a copy behind: dropped ${name}`);
}

/** @throws Fault INTEGRITY unless the operator takes what no key vouches for; tells what is left out of it then */
async function permitUnauthenticated({ file, allowUnauthenticated }: RestoreOptions, { output }: Io): Promise<void> {
  const [{ Fault }, { VOUCHED }] = await Promise.all([
    import("../../domain/fault.ts"),
    import("../../ledger/schema.ts"),
  ]);
  if (allowUnauthenticated !== true)
    throw new Fault(
      "INTEGRITY",
      `${file} carries no mac, so nothing says who wrote it; one of an older pmctl needs --allow-unauthenticated`,
    );
  output.note(`No key vouches for this file: what the log does not tell is left out (${VOUCHED.join(", ")}, API keys)`);
}
