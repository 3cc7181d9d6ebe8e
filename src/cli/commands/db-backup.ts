import type { Command } from "commander";
import type { BackupManifest } from "../../store/backup-format.ts";
import type { Connection } from "../../store/connect.ts";
import { time } from "../cells.ts";
import type { Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { View } from "../output.ts";
import { identifier } from "../parsers.ts";
import { mustAsk } from "../prompts.ts";

/** A backup that was written, as printed. */
interface Backup extends Omit<BackupManifest, "migrations"> {
  file: string;
  bytes: number;
}

interface RestoredBackup extends Omit<BackupManifest, "migrations"> {
  file: string;
  /** The database that was replaced, under its new name. */
  keptAs: string | null;
}

/** A tenant's database, with what the two commands need of the tenant. */
export interface BackupTarget {
  tenant: string;
  connection: Connection;
}

export interface RestoreOptions extends BackupTarget {
  file: string;
  auditSecrets: readonly string[];
  /** Milliseconds since the epoch. */
  now: number;
  yes?: boolean | undefined;
}

export function registerBackup(noun: Command, host: Host): void {
  noun
    .command("backup")
    .description("write the tenant's database, as of one moment, into a file")
    .argument("[file]", "the new file (default: .pmctl/backups/TENANT-TIME.backup.gz)", identifier)
    .option("--out <file>", "the new file, instead of the argument", identifier)
    .action(
      host.action<{ out?: string }>(async ({ options, args: [argument], io }) => {
        const [{ openBackupTarget, backupFile }, { wallClockMs }] = await Promise.all([
          import("../backup-target.ts"),
          import("../clock.ts"),
        ]);
        const { directory, target } = await openBackupTarget(options.tenant);
        const file = await backupFile(argument ?? options.out, directory, target.tenant, wallClockMs());
        return runDbBackup({ ...target, file }, io);
      }),
    );
  noun
    .command("restore")
    .description("put a backup into the place of the tenant's database, once it has been verified")
    .argument("<file>", "a file of `db backup`", identifier)
    .action(
      host.action(async ({ options, args: [file = ""], io }) => {
        mustAsk(options, io.prompts);
        const [{ openBackupTarget }, { wallClockMs }] = await Promise.all([
          import("../backup-target.ts"),
          import("../clock.ts"),
        ]);
        const { target, auditSecrets } = await openBackupTarget(options.tenant);
        return runDbRestore(
          { ...target, file, auditSecrets: auditSecrets(), now: wallClockMs(), yes: options.yes },
          io,
        );
      }),
    );
}

const manifestFields = ({ tenant, created, head, count, schemaVersion }: Omit<BackupManifest, "migrations">) =>
  [
    ["tenant", tenant],
    ["created", time(created, { seconds: true })],
    ["audit entries", String(count)],
    ["audit head", `${head.seq} ${head.hash}`],
    ["schema", String(schemaVersion)],
  ] as const;

const backupView: View<Backup, Backup> = {
  kind: "record",
  fields: (backup) => [["file", backup.file], ...manifestFields(backup), ["bytes", String(backup.bytes)]],
};

const restoredView: View<RestoredBackup, RestoredBackup> = {
  kind: "record",
  fields: (restored) => [
    ["file", restored.file],
    ...manifestFields(restored),
    ["replaced database", restored.keptAs ?? "there was none"],
  ],
};

/** @throws Fault USAGE when the file exists already */
export async function runDbBackup(
  { tenant, connection, file }: BackupTarget & { file: string },
  { output }: Io,
): Promise<ExitCode> {
  const { writeBackup } = await import("../backup-file.ts");
  const { manifest, bytes } = await writeBackup(connection, tenant, file, (written) =>
    output.progress(`${(written / 1e6).toFixed(1)} MB`),
  );
  const { migrations: _, ...shown } = manifest;
  await output.print({ file, ...shown, bytes }, backupView);
  return EXIT.ok;
}

/**
 * Restores a backup of this tenant, after the operator has typed its name.
 *
 * @throws Fault INTEGRITY (exit code 8) when the backup does not verify; then nothing has been replaced
 */
export async function runDbRestore(options: RestoreOptions, io: Io): Promise<ExitCode> {
  const { tenant, connection, file, auditSecrets, now } = options;
  const [{ openBackup }, { restoreDatabase }, { Fault }] = await Promise.all([
    import("../backup-file.ts"),
    import("../../services/restore.ts"),
    import("../../domain/fault.ts"),
  ]);
  const { manifest, content } = await openBackup(file);
  if (manifest.tenant !== tenant)
    throw new Fault("USAGE", `${file} is a backup of ${manifest.tenant}, and ${tenant} is to be restored`);
  if (mustAsk(options, io.prompts)) {
    io.output.note(
      [
        `${file} holds ${tenant} as of ${time(manifest.created, { seconds: true })}, ${manifest.count} audit entries.`,
        "  Whatever happened since is not in it. The database that it replaces is kept under another name.",
      ].join("\n"),
    );
    await io.prompts.type("To replace the tenant's database, type the tenant's name", tenant);
  }
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/\D/g, "");
  const { keptAs = null } = await restoreDatabase({
    connection,
    content: content(),
    auditSecrets,
    stamp,
    onStep: (step) => io.output.note(step),
  });
  const { migrations: _, ...shown } = manifest;
  await io.output.print({ file, ...shown, keptAs }, restoredView);
  return EXIT.ok;
}
