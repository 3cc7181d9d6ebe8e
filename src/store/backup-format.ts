import { Fault } from "../domain/fault.ts";

/** The first line of a backup: what it holds, so that it can be judged before anything is restored. */
export interface BackupManifest {
  format: "pmctl-backup-v1";
  tenant: string;
  /** ISO 8601, by the database's clock: the instant of the snapshot. */
  created: string;
  schemaVersion: number;
  /** What the schema was made with; another build's migrations would make another schema. */
  migrations: { name: string; checksum: string }[];
  head: { seq: number; hash: string };
  /** Entries in the audit log. */
  count: number;
}

/** The last line. */
export interface Trailer {
  rows: number;
  /** Of everything before it, hex. */
  sha256: string;
}

export const BACKUP_FORMAT = "pmctl-backup-v1";
/** Closes the rows of a table, which no row can look like because COPY escapes every backslash. */
export const END_OF_ROWS = Buffer.from("\\.\n");

/** The manifest at the beginning of a backup. */
export function parseManifest(line: string): BackupManifest {
  try {
    const manifest = JSON.parse(line) as BackupManifest;
    if (manifest.format === BACKUP_FORMAT && typeof manifest.tenant === "string" && Array.isArray(manifest.migrations))
      return manifest;
  } catch {
    // Said below.
  }
  throw new Fault("USAGE", "This is no backup of pmctl");
}

/** One a line: COPY escapes the newlines of the data. */
export function countRows(text: Buffer): number {
  let count = 0;
  for (let at = text.indexOf(10); at !== -1; at = text.indexOf(10, at + 1)) count += 1;
  return count;
}

/** The refusal of a backup that is not what was written, or not all of it. */
export function damaged(what: string, cause?: unknown): Fault {
  return new Fault("INTEGRITY", `The backup is damaged: ${what}`, { cause });
}
