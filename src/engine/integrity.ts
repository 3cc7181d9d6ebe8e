import { ROLLBACK_TYPE } from "../domain/audit/set-back.ts";
import { decimalFromMicro } from "../domain/money.ts";
import type { CommandKind } from "./command.ts";

/** Records that the ledger was checked, and the result. */
export const recordReconciliation: CommandKind<{ ok: boolean; discrepancyMicro: bigint }, { checkedAt: number }> = {
  needs: () => [],
  decide(draft, { ok, discrepancyMicro }, now) {
    draft.record("reconcile.run", { ok, discrepancy: decimalFromMicro(discrepancyMicro) });
    return { checkedAt: now };
  },
};

interface AcceptRollback {
  /** The newest entry that is gone. */
  anchor: { seq: number; hash: string };
  /** Where the log ends instead. */
  head: { seq: number; hash: string };
  /** How many entries are gone, at the least. */
  lost: number;
}

/**
 * Records that the log goes on although it does not hold an entry that it once held. Verification gives the anchor up
 * by this entry, and by nothing else.
 */
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

/**
 * Records that what the recomputation finds wrong in an entry stays as it is. The recomputation passes over that entry's
 * findings by this entry, and by nothing else.
 * `findings`: in words, for people.
 */
export const acceptFinding: CommandKind<{ seq: number; findings: string[] }, undefined> = {
  needs: () => [],
  decide(draft, { seq, findings }) {
    draft.record("finding.accepted", { seq, findings });
  },
};

interface RecordRestore {
  /** The backup's last entry. */
  seq: number;
  hash: string;
  /** When the backup was made, ISO 8601. */
  created: string;
  /** The new name of the database that was replaced; null when there was none. */
  keptAs: string | null;
  /** Of the backup's content. */
  sha256: string;
}

/** Records in a restored log which backup the database came from, and where the one that it replaced is kept. */
export const recordRestore: CommandKind<RecordRestore, undefined> = {
  needs: () => [],
  decide(draft, { seq, hash, created, keptAs, sha256 }) {
    draft.record("database.restored", { seq, hash, created, keptAs, sha256 });
  },
};
