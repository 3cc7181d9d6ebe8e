import { ROLLBACK_TYPE } from "../domain/audit/set-back.ts";
import { decimalFromMicro } from "../domain/money.ts";
import type { CommandKind } from "./command.ts";

export interface RecordReconciliation {
  type: "recordReconciliation";
  ok: boolean;
  discrepancyMicro: bigint;
}

/** Puts on record that the ledger was checked, and what came of it. */
export const recordReconciliation: CommandKind<RecordReconciliation, { checkedAt: number }> = {
  needs: () => [],
  decide(draft, { ok, discrepancyMicro }, now) {
    draft.record("reconcile.run", { ok, discrepancy: decimalFromMicro(discrepancyMicro) });
    return { checkedAt: now };
  },
};

/** Puts on record that the log goes on although it does not hold an entry that it once held. */
export interface AcceptRollback {
  type: "acceptRollback";
  /** The newest entry that is gone. */
  anchor: { seq: number; hash: string };
  /** Where the log ends instead. */
  head: { seq: number; hash: string };
  /** Entries. */
  lost: number;
}

/** The entry gives the anchor up: verification goes by it, and by nothing else. */
export const acceptRollback: CommandKind<AcceptRollback, undefined> = {
  needs: () => [],
  decide(draft, { anchor, head, lost }) {
    draft.record(ROLLBACK_TYPE, {
      anchorSeq: anchor.seq,
      anchorHash: anchor.hash,
      headSeq: head.seq,
      headHash: head.hash,
      lost,
    });
  },
};

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
export const recordRestore: CommandKind<RecordRestore, undefined> = {
  needs: () => [],
  decide(draft, { seq, hash, created, keptAs, sha256 }) {
    draft.record("database.restored", { seq, hash, created, keptAs, sha256 });
  },
};
