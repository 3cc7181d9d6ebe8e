import type { Draft } from "./draft.ts";

/** Says in a restored log that it was restored. */
export interface RecordRestore {
  type: "recordRestore";
  /** Of the backup's last entry. */
  seq: number;
  hash: string;
  /** When the backup was made, ISO 8601. */
  created: string;
  /** The database that was replaced, under its new name; null when there was none. */
  keptAs: string | null;
  /** Of the backup's content. */
  sha256: string;
}

/** Puts on record that the database came out of a backup: which, and where the one that it replaced is kept. */
export function recordRestore(draft: Draft, { seq, hash, created, keptAs, sha256 }: RecordRestore): undefined {
  draft.record("database.restored", { seq, hash, created, keptAs, sha256 });
}
