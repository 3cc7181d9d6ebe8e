import { isSameMac } from "../../domain/audit/hmac.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";

/** The first line of a backup: what it holds, for the checks before anything is restored. */
export interface BackupManifest {
  format: typeof BACKUP_FORMAT;
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

/** The last line. A file that no key authenticates ends without `keyId` and `mac`. */
export interface Trailer {
  rows: number;
  /** Of everything before it, hex. */
  sha256: string;
  /** The audit key that authenticates the file. */
  keyId?: string;
  /** Of `backupMac`. */
  mac?: string;
}

export const BACKUP_FORMAT = "pmctl-backup-v2";
/** Closes the rows of a table, which no row can look like because COPY escapes every backslash. */
export const END_OF_ROWS = Buffer.from("\\.\n");

/** Binds the whole file to the audit key, hex: who can write to the database or to the file cannot make one that holds. */
export function backupMac(key: AuditKey, sha256: string): string {
  return key.hmac(`${BACKUP_FORMAT}\n${sha256}`);
}

/**
 * Whether the file carries a `mac` at all.
 * @throws Fault INTEGRITY when it carries one that does not hold, CONFIG_INVALID when it was made with another key
 */
export function isAuthenticated({ sha256, keyId, mac }: Trailer, keys: readonly AuditKey[]): boolean {
  if (mac === undefined && keyId === undefined) return false;
  const key = keys.find(({ id }) => id === keyId);
  if (!key)
    throw new Fault(
      // A last line that names no key was altered.
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
    // Refused below.
  }
  throw noBackup();
}

/** Checks every field that is printed or compared; the rows are checked against them later. */
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

/** The last line of a backup, as far as it reads like one. */
export function parseTrailer(line: string): Trailer {
  try {
    const trailer = JSON.parse(line) as Trailer;
    if (Number.isSafeInteger(trailer.rows) && /^[0-9a-f]{64}$/.test(trailer.sha256)) return trailer;
  } catch {
    // Refused below.
  }
  throw damaged("its end is not where it should be");
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

/** The refusal of a file that is something else. */
export function noBackup(cause?: unknown): Fault {
  return new Fault("USAGE", "This is no backup of pmctl", { cause });
}
