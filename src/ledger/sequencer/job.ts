import type { AuditEntry } from "../../domain/audit/audit-link.ts";
import { type Command, needsOwnBatch, type Results } from "../../engine/commands.ts";
import type { StoredAnswer } from "../../engine/rows.ts";
import { isQuiet, type Outcome, type Prepared, type Rendered, type Submission } from "./batch.ts";

/**
 * `rendered` is the answer that the submission created, if it creates one. `entry` is the last entry that the command
 * wrote, sealed and committed; undefined if the command changed nothing.
 */
export type Submitted<C extends Command> =
  | { result: Results[C["type"]]; rendered: Rendered | undefined; entry: AuditEntry | undefined; replayed?: undefined }
  | { result?: undefined; rendered?: undefined; entry?: undefined; replayed: StoredAnswer };

/** A submission whose caller waits for the answer. */
export interface Job extends Submission {
  enqueuedAt: number;
  resolve: (answer: Submitted<Command>) => void;
  reject: (fault: unknown) => void;
}

/** Gives each job its outcome, in order. */
export function settle(jobs: readonly Job[], outcomes: readonly Outcome[]): void {
  for (const [index, { resolve, reject }] of jobs.entries()) {
    const outcome = outcomes[index] as Outcome;
    if (outcome.kind === "refused") reject(outcome.fault);
    else if (outcome.kind === "replayed") resolve({ replayed: outcome.answer });
    else resolve({ result: outcome.result, rendered: outcome.rendered, entry: outcome.entry });
  }
}

/** A batch that was sent and whose callers have no answer yet. */
export interface Flight {
  jobs: Job[];
  prepared: Prepared;
  /** The result of `canBeFollowed`. */
  mayBeFollowed: boolean;
  /** `swapped`: head confirmed; `moved`: another head was found; `failed`: nothing was stored; `unknown`: the fence decides. */
  state: "under way" | "swapped" | "moved" | "failed" | "unknown";
  error?: unknown;
  /** Resolves when the statement has ended, with or without success. */
  landed: Promise<void>;
}

/**
 * Whether another batch may be sent behind this one. Not behind a quiet batch, because another process's quiet batch of
 * the same millisecond could leave the same head; nor behind a read; nor next to a command with its own batch, which
 * changes the sums that loaders read.
 */
export function canBeFollowed({ jobs, prepared: { batch } }: Pick<Flight, "jobs" | "prepared">): boolean {
  return batch !== null && !isQuiet(batch) && jobs.every(({ command }) => !needsOwnBatch(command));
}
