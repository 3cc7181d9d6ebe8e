import { readFile } from "node:fs/promises";
import { createStateFolder, statePath, writeWhole } from "../../state/state-directory.ts";

/** The directory and tenant whose backups are noted. */
interface BackupPlace {
  directory: string;
  tenant: string;
}

/** The note is a file of its own, because a backup is often moved to another machine at once. */
function noteOf({ directory, tenant }: BackupPlace): string {
  return statePath(directory, "backups", `${tenant}.latest`);
}

/** Notes a new backup. @param created the moment of its content, in ISO 8601 */
export async function noteBackup(place: BackupPlace, created: string): Promise<void> {
  createStateFolder(place.directory, "backups");
  writeWhole(noteOf(place), `${created}\n`);
}

/** The moment of the latest backup from this directory, in ISO 8601; null without one. */
export async function lastBackupAt(place: BackupPlace): Promise<string | null> {
  const created = (await readFile(noteOf(place), "utf8").catch(() => "")).trim();
  return Number.isNaN(Date.parse(created)) ? null : created;
}
