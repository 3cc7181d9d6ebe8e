import { isSameMac } from "../../domain/audit/hmac.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";

/** The first line of a backup: its contents, for the checks before the restore. */
export interface BackupManifest {
  format: typeof BACKUP_FORMAT;
  tenant: string;
  /** The time of the snapshot, ISO 8601, by the database's clock. */
  created: string;
  schemaVersion: number;
  /** The migrations of the schema; another build's migrations would create another schema. */
  migrations: { name: string; checksum: string }[];
  head: { seq: number; hash: string };
  /** The number of entries in the audit log. */
  count: number;
}

/** The last line. A file without authentication ends without `keyId` and `mac`. */
export interface Trailer {
  rows: number;
  /** SHA-256 of everything before the trailer, hex. */
  sha256: string;
  /** The id of the audit key that authenticates the file. */
  keyId?: string;
  /** The result of `backupMac`. */
  mac?: string;
}

export const BACKUP_FORMAT = "pmctl-backup-v2";
/** Ends the rows of a table. COPY escapes every backslash, so no row can look like it. */
export const END_OF_ROWS = Buffer.from("\\.\n");

/** Authenticates the whole file, hex. Without the audit key, write access to database and file cannot make a valid one. */
export function backupMac(key: AuditKey, sha256: string): string {
  return key.hmac(`${BACKUP_FORMAT}\n${sha256}`);
}

/**
 * Whether the file has a `mac`.
 * @throws Fault INTEGRITY if its `mac` is invalid, CONFIG_INVALID if it was made with another key
 */
export function isAuthenticated({ sha256, keyId, mac }: Trailer, keys: readonly AuditKey[]): boolean {
  if (mac === undefined && keyId === undefined) return false;
  const key = keys.find(({ id }) => id === keyId);
  if (!key)
    throw new Fault(
      // A last line without a key's name was altered.
      keyId === undefined ? "INTEGRITY" : "CONFIG_INVALID",
      `The backup is authenticated with the key ${JSON.stringify(keyId ?? null)}, which is not among the tenant's audit keys: ${keys.map(({ id }) => id).join(", ")}`,
    );
  if (!isSameMac(String(mac), backupMac(key, sha256)))
    throw new Fault("INTEGRITY", "The backup was changed, or was not written with the tenant's audit key");
  return true;
}

/** The manifest at the beginning of a backup. */
export function parseManifest(line: string): BackupManifest {
  try {
    const manifest = JSON.parse(line) as BackupManifest;
    if (isManifest(manifest)) return manifest;
  } catch {
    // The check below refuses it.
  }
  throw noBackup();
}

/** Checks every field that is printed or compared; the rows are compared with the fields later. */
function isManifest({ format, tenant, created, schemaVersion, migrations, head, count }: BackupManifest): boolean {
  return (
    format === BACKUP_FORMAT &&
    typeof tenant === "string" &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(created) &&
    Number.isSafeInteger(schemaVersion) &&
    Array.isArray(migrations) &&
    Number.isSafeInteger(head.seq) &&
    /^[0-9a-f]{64}$/.test(head.hash) &&
    Number.isSafeInteger(count)
  );
}

/** Parses the last line of a backup. */
export function parseTrailer(line: string): Trailer {
  try {
    const trailer = JSON.parse(line) as Trailer;
    if (Number.isSafeInteger(trailer.rows) && /^[0-9a-f]{64}$/.test(trailer.sha256)) return trailer;
  } catch {
    // The code below refuses it.
  }
  throw damaged("its last line is missing or invalid");
}

/** Counts lines: COPY escapes the newlines of the data. */
export function countRows(text: Buffer): number {
  let count = 0;
  for (let at = text.indexOf(10); at !== -1; at = text.indexOf(10, at + 1)) count += 1;
  return count;
}

/** The error for a changed or incomplete backup. */
export function damaged(what: string, cause?: unknown): Fault {
  return new Fault("INTEGRITY", `The backup is damaged: ${what}`, { cause });
}

/** The error for a file that is not a backup. */
export function noBackup(cause?: unknown): Fault {
  return new Fault("USAGE", "This is not a pmctl backup", { cause });
}
