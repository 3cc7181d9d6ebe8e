import type { AuditKey } from "../../domain/audit/seal.ts";
import type { Fault } from "../../domain/fault.ts";
import type { Batch, Head } from "../commit.ts";
import type { Journal } from "../journal.ts";

export interface SequencerOptions {
  journal: Journal;
  /** Seals. */
  auditKey: AuditKey;
  /** Those that rows may be sealed with: the audit key and those before it. Only itself unless given. */
  auditKeys?: readonly AuditKey[];
  /** Milliseconds that never step back. */
  monotonic?: () => number;
  /** Runs something later; returns how to call it off. */
  after?: (ms: number, run: () => void) => () => void;
  /** From 0 up to 1, for pauses that no two processes share. */
  random?: () => number;
  /** Runs the work after everything that is ready now. */
  defer?: (work: () => void) => void;
  /** Why no command is taken at present; asked before each is queued. */
  refusal?: () => Fault | undefined;
  /** Told of faults that no caller is to blame for. */
  onError?: (error: unknown) => void;
  /** Told of each batch, right before its commit statement goes to the journal. */
  onSend?: (batch: Batch) => void;
  /** Told of each commit: commands in the batch, entries written, and where the log ends with it. */
  onCommit?: (commit: { commands: number; entries: number; before: Head; head: Head }) => void;
}
