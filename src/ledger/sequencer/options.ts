import type { AuditKey } from "../../domain/audit/seal.ts";
import type { Fault } from "../../domain/fault.ts";
import type { Batch, Head } from "../commit.ts";
import type { Journal } from "../journal.ts";

export interface SequencerOptions {
  journal: Journal;
  /** The key that seals. */
  auditKey: AuditKey;
  /** The keys that may have sealed rows: the audit key and its predecessors. Only the audit key by default. */
  auditKeys?: readonly AuditKey[];
  /** Milliseconds that never move back. */
  monotonic?: () => number;
  /** Runs something later; returns a function that cancels it. */
  after?: (ms: number, run: () => void) => () => void;
  /** A number from 0 up to 1, so that processes pause for different times. */
  random?: () => number;
  /** Runs the work after everything that is ready now. */
  defer?: (work: () => void) => void;
  /** Why commands are currently refused; checked before each is queued. */
  refusal?: () => Fault | undefined;
  /** Called with errors that no caller caused. */
  onError?: (error: unknown) => void;
  /** Called with each batch, right before its commit statement goes to the journal. */
  onSend?: (batch: Batch) => void;
  /** Called after each commit, with the number of commands and entries, and the heads before and after. */
  onCommit?: (commit: { commands: number; entries: number; before: Head; head: Head }) => void;
}
