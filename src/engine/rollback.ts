import { ROLLBACK_TYPE } from "../domain/audit/set-back.ts";
import type { Draft } from "./draft.ts";

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
export function acceptRollback(draft: Draft, { anchor, head, lost }: AcceptRollback): undefined {
  draft.record(ROLLBACK_TYPE, {
    anchorSeq: anchor.seq,
    anchorHash: anchor.hash,
    headSeq: head.seq,
    headHash: head.hash,
    lost,
  });
}
