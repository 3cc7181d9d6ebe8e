import { readFile } from "node:fs/promises";
import { createStateFolder, statePath, writeWhole } from "../../state/state-directory.ts";

/** Where a directory keeps what it knows of a tenant's backups. */
interface BackupPlace {
  directory: string;
  tenant: string;
}

/** A file of its own, because a backup is often moved to another machine as soon as it is written. */
function noteOf({ directory, tenant }: BackupPlace): string {
  return statePath(directory, "backups", `${tenant}.latest`);
}

/** Notes that a backup was written. @param created the moment that it shows, ISO 8601 */
export async function noteBackup(place: BackupPlace, created: string): Promise<void> {
  createStateFolder(place.directory, "backups");
  writeWhole(noteOf(place), `${created}\n`);
}

/** The moment that the latest backup written from this directory shows, ISO 8601; null where there is none. */
export async function lastBackupAt(place: BackupPlace): Promise<string | null> {
  const created = (await readFile(noteOf(place), "utf8").catch(() => "")).trim();
  return Number.isNaN(Date.parse(created)) ? null : created;
}
