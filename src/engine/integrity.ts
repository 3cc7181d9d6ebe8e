import type { AuditContent } from "../domain/audit/audit-payloads.ts";
import { ROLLBACK_TYPE } from "../domain/audit/set-back.ts";
import { Fault } from "../domain/fault.ts";
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

/** What an operator does by no other command: its effect is outside of the ledger. */
export type Act = AuditContent<"webhook.tested" | "webhook.replayed" | "webhook.enabled" | "oracle.swept">;

/** Records an act, and so stores its answer for repeats. Before the act it only looks for the answer of an earlier one. */
export const recordAct: CommandKind<{ act: Act | undefined }, undefined> = {
  needs: () => [],
  decide(draft, { act }) {
    if (!act) throw new Fault("NOT_FOUND", "No answer is stored under this key yet");
    draft.record(act.type, act.payload);
  },
};

interface AcceptRollback {
  /** The newest missing entry. */
  anchor: { seq: number; hash: string };
  /** The actual end of the log. */
  head: { seq: number; hash: string };
  /** The smallest possible number of missing entries. */
  lost: number;
}

/**
 * Records that the log continues although it lacks an entry that it once contained. Only this entry makes verification
 * give up the anchor.
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
 * Accepts a finding of the recomputation about an entry. Only this entry makes the recomputation skip that entry's
 * findings.
 * `findings`: descriptions for people.
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
  /** The time of the backup, ISO 8601. */
  created: string;
  /** The new name of the replaced database; null if there was none. */
  keptAs: string | null;
  /** SHA-256 of the backup's content. */
  sha256: string;
}

/** Records in a restored log which backup the database came from, and where the replaced database is kept. */
export const recordRestore: CommandKind<RecordRestore, undefined> = {
  needs: () => [],
  decide(draft, { seq, hash, created, keptAs, sha256 }) {
    draft.record("database.restored", { seq, hash, created, keptAs, sha256 });
  },
};
