import type { Command } from "commander";
import type { WrittenBackup } from "../../app/backup/backup-file.ts";
import type { BackupTarget } from "../../app/backup/backup-tenant.ts";
import type { RestoredTenant, RestoreRequest } from "../../app/backup/restore-tenant.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import type { Host, Io } from "../command.ts";
import { USES_DATABASE } from "../errors.ts";
import { identifier, writableFile } from "../input/parsers.ts";
import { askReason, mustAsk } from "../input/prompts.ts";
import { time } from "../output/cells.ts";
import type { View } from "../output/output.ts";

/** A backup as `db backup` and `db restore` print it. */
interface ShownBackup extends Omit<WrittenBackup["manifest"], "migrations"> {
  file: string;
  /** Hash of the uncompressed content. */
  sha256: string;
  /** The audit key that authenticates the backup; null for a file without a `mac`. */
  keyId: string | null;
  encrypted: boolean;
}

interface Backup extends ShownBackup {
  bytes: number;
}

type LeakedKeys = NonNullable<RestoredTenant["leakedKeys"]>;

interface RestoredBackup extends ShownBackup {
  /** The new name of the replaced database. */
  keptAs: string | null;
  /** The variable that names the filled database; null where the tenant's own was replaced. */
  into: string | null;
  /** Keys whose values leaked after the backup; null where no database could say. */
  leakedKeys: LeakedKeys | null;
}

interface BackupOptions extends BackupTarget {
  /** The operator's directory, which records that there is a backup. */
  directory: string;
  file: string;
  /** Entries that the log is known to have held. */
  known?: readonly KnownAnchor[] | undefined;
  encryptTo?: readonly string[] | undefined;
}

type RestoreFlags = Pick<
  RestoreRequest,
  "into" | "anchor" | "reason" | "identity" | "allowUnauthenticated" | "acceptRollback"
> & {
  yes?: boolean | undefined;
};

export type RestoreOptions = RestoreRequest & RestoreFlags;

const BACKUP_FIELDS = "file format tenant created schemaVersion head head.seq head.hash count sha256 keyId encrypted";

export function registerBackup(noun: Command, host: Host): void {
  host.add<{ out?: string; encryptTo?: string[] }>(
    noun
      .command("backup")
      .description("write the tenant's database, as of one moment, into a file")
      .argument("[file]", "the new file (default: .pmctl/backups/TENANT-TIME.backup.gz)", writableFile)
      .option("--out <file>", "the new file, instead of the argument", writableFile)
      .option("--encrypt-to <recipient>", "encrypt the file to an age key (age1…); repeat for more keys", collected)
      .addHelpText("after", BACKUP_NOTE),
    { names: `${BACKUP_FIELDS} bytes`, ends: USES_DATABASE },
    async ({ options, args: [argument], io }) => {
      const { openBackupTarget, newBackupFile } = await import("../../app/backup/backup-tenant.ts");
      const { encryptTo, out } = options;
      const { directory, known, target } = await openBackupTarget(options.tenant);
      if (argument === target.tenant)
        throw new Fault(
          "USAGE",
          `${argument} is the tenant, not a file: pmctl db backup -t ${argument} (--out takes any name)`,
        );
      const isEncrypted = encryptTo !== undefined;
      const file = argument ?? out ?? (await newBackupFile({ id: target.tenant, directory }, isEncrypted));
      return runDbBackup({ ...target, directory, file, encryptTo, known }, io);
    },
  );
  host.add<RestoreFlags>(
    noun
      .command("restore")
      .description("replace the tenant's database by a backup, after verifying it, or fill a new database")
      .argument("<file>", "a file that `db backup` wrote", identifier)
      .option("--into <variable>", "the variable with the address of a new, empty database to fill", variable)
      .option("--anchor <file>", "anchors or receipts (--receipt) that the restored log must hold", identifier)
      .option("--identity <file>", "the age key that decrypts the file, as age-keygen writes it", identifier)
      .option("--allow-unauthenticated", "accept a file without a mac, which no audit key authenticates")
      .option("--accept-rollback", "accept a backup that lacks known entries; needs --reason")
      .addHelpText("after", RESTORE_NOTE),
    {
      names: `${BACKUP_FIELDS} keptAs into leakedKeys leakedKeys.name leakedKeys.usable`,
      ends: {
        ...USES_DATABASE,
        3: "not confirmed, or the database is in use: nothing was replaced",
        8: "the backup does not verify: nothing was replaced",
      },
    },
    async ({ options, args: [file = ""], io }) => {
      // Filling an empty database replaces nothing, so it needs no confirmation.
      if (options.into === undefined) mustAsk(options, io.prompts);
      const [{ openBackupTarget }, { wallClockMs }] = await Promise.all([
        import("../../app/backup/backup-tenant.ts"),
        import("../../domain/time/clock.ts"),
      ]);
      const { directory, anchorFiles, target, own } = await openBackupTarget(options.tenant, options.into);
      return runDbRestore({ ...options, ...target, own, directory, anchorFiles, file, now: wallClockMs() }, io);
    },
  );
}

/** The help warns where an operator decides: backups are plain text, because a lost age key would lose all of them. */
const BACKUP_NOTE = `
The file is authenticated with the tenant's audit key: a restore refuses a file
that was changed. It is encrypted only with --encrypt-to. Losing the key means
losing the backup. Without encryption, trades, names and balances are in clear
text, and only the file's mode (0600) protects them: encrypt each file that
leaves the machine. Any of the recipients can decrypt it, with pmctl or with age.`;

const RESTORE_NOTE = `
pmctl verifies everything before it replaces anything: the file under the audit
key, the chain, and every row against the chain. It keeps the replaced database
under another name, and records the restore in the restored log.

With --into VARIABLE it replaces nothing: the backup goes into the new, empty
database at the address in that variable, whose login must own it. There pmctl
reconciles the ledger and compares the chain with all known anchors. If one of
these checks fails, the exit code is 8. The tenant uses its own database until
its file names the new one.`;

/** Takes only a variable's name, because the address holds a password, and errors print what was given. */
function variable(value: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(value))
    throw new Fault(
      "USAGE",
      "--into takes the name of a variable such as ACME_NEW_DATABASE_URL, not the address itself",
    );
  return value;
}

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
    restored.into === null
      ? ["replaced database", restored.keptAs ?? "there was none"]
      : ["restored into", `the database in ${restored.into}`],
  ],
};

/** Notes what to do about keys whose values leaked since the backup. */
function tellLeaked(keys: LeakedKeys | null, tenant: string, output: Io["output"]): void {
  if (keys === null)
    output.note(
      "No database could say which keys leaked since the backup. Their old values work again: run pmctl key rotate NAME --leaked for each of them",
    );
  for (const { name, usable } of keys ?? [])
    output.note(
      `Key ${name}: its value was ended as leaked after the backup, and is ended here too. ` +
        (usable
          ? "Another value of the key works"
          : `No value of it works now: for a key of the tenant file put a new one there, look at pmctl plan ${tenant}, and pmctl apply ${tenant} --on-drift overwrite --accept-loosening; for another, pmctl key create --name ${name}`),
    );
}

/** @throws Fault USAGE when the file exists already, or a recipient is not an age key */
export async function runDbBackup(options: BackupOptions, { output }: Io): Promise<void> {
  const { file, directory, encryptTo: recipients = [], known, ...target } = options;
  const { backupTenant, dropUnfinishedRestores, problemOfLog } = await import("../../app/backup/backup-tenant.ts");
  const { noteBackup } = await import("../../app/backup/last-backup.ts");
  await dropUnfinishedRestores(target, (message) => output.note(message));
  const onProgress = (written: number) => output.progress(`${(written / 1e6).toFixed(1)} MB`);
  const written = await backupTenant({ ...target, file, recipients, onProgress });
  const { migrations: _, ...manifest } = written.manifest;
  await noteBackup({ directory, tenant: target.tenant }, manifest.created);
  const { sha256, bytes, keyId } = written;
  await output.print({ file, ...manifest, sha256, keyId, encrypted: recipients.length > 0, bytes }, backupView);
  const problem = await problemOfLog(target, known);
  if (problem !== undefined) output.note(`${file} is written, but ${problem}. A restore of it may be refused.`);
}

/**
 * Restores a backup of this tenant: into an empty database, or over the tenant's own after the operator typed its name.
 *
 * @throws Fault INTEGRITY (exit code 8) when the backup does not verify; nothing has been replaced then
 */
export async function runDbRestore(options: RestoreOptions, { output, prompts }: Io): Promise<void> {
  const { tenant, file, into = null, acceptRollback } = options;
  const reason = acceptRollback ? await askReason(options, prompts, "--accept-rollback") : options.reason;
  const { restoreTenant } = await import("../../app/backup/restore-tenant.ts");
  const confirm = async ({ created, count }: Pick<ShownBackup, "created" | "count">, beyond: bigint | undefined) => {
    if (!mustAsk(options, prompts)) return;
    const lost =
      beyond === undefined
        ? "What happened since is not in it."
        : `Audit entries that will be lost: ${beyond > 0n ? beyond : "none"}.`;
    output.note(
      [
        `${file} holds ${tenant} as of ${time(created, { seconds: true })}, ${counted(count, "audit entry", "audit entries")}.`,
        `  ${lost} The database that it replaces is kept under another name.`,
      ].join("\n"),
    );
    await prompts.type("To replace the tenant's database, type the tenant's name", tenant);
  };
  const restored = await restoreTenant({ ...options, reason }, confirm, (message) => output.note(message));
  const { manifest, sha256, keyId = null, encrypted, keptAs = null, lost, leakedKeys = null } = restored;
  if (lost !== undefined)
    output.note(`The rollback is on record: ${counted(lost, "audit entry is", "audit entries are")} missing`);
  const { migrations: _, ...shown } = manifest;
  await output.print({ file, ...shown, sha256, keyId, encrypted, keptAs, into, leakedKeys }, restoredView);
  tellLeaked(leakedKeys, tenant, output);
  if (into !== null)
    output.note(
      `To use it: stop the tenant's servers, let the tenant file's database name it, run pmctl db migrate -t ${tenant}, which grants the server's login its rights, and start them.`,
    );
}
