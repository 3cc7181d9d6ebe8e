import type { AuditEntry } from "../../domain/audit/audit-link.ts";
import { type Command, needsOwnBatch, type Results } from "../../engine/commands.ts";
import type { StoredAnswer } from "../../engine/rows.ts";
import { isQuiet, type Outcome, type Prepared, type Rendered, type Submission } from "./batch.ts";

/**
 * `rendered` is what the submission made of the result, where it does. `entry` is the last one that the command wrote,
 * sealed and committed; a command that changed nothing has none.
 */
export type Submitted<C extends Command> =
  | { result: Results[C["type"]]; rendered: Rendered | undefined; entry: AuditEntry | undefined; replayed?: undefined }
  | { result?: undefined; rendered?: undefined; entry?: undefined; replayed: StoredAnswer };

/** A submission that waits for its answer. */
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

/** A batch whose statement was sent and whose callers have no answer yet. */
export interface Flight {
  jobs: Job[];
  prepared: Prepared;
  /** See `canBeFollowed`. */
  mayBeFollowed: boolean;
  /** `swapped`: the head is confirmed; `moved`: it was another; `failed`: nothing is in the database; else the fence tells. */
  state: "under way" | "swapped" | "moved" | "failed" | "unknown";
  error?: unknown;
  /** Resolves when the statement has ended, however it did. */
  landed: Promise<void>;
}

/**
 * Whether another batch may be sent behind this. Not behind a quiet one, whose head another process's quiet batch of
 * the same millisecond might leave too, nor a read; nor next to a command with a batch of its own, which changes what
 * loaders sum up.
 */
export function canBeFollowed({ jobs, prepared: { batch } }: Pick<Flight, "jobs" | "prepared">): boolean {
  return batch !== null && !isQuiet(batch) && jobs.every(({ command }) => !needsOwnBatch(command));
}
