import type { AuditEntry } from "../../domain/audit/audit-link.ts";
import type { Command, Results } from "../../engine/commands.ts";
import type { StoredAnswer } from "../../engine/rows.ts";
import type { Outcome, Rendered, Submission } from "./batch.ts";

/**
 * `rendered` is what the submission made of the result, where it does. `entry` is the last one that the command wrote,
 * sealed and committed; a command that changed nothing has none.
 */
export type Answer<C extends Command> =
  | { result: Results[C["type"]]; rendered: Rendered | undefined; entry: AuditEntry | undefined; replayed?: undefined }
  | { result?: undefined; rendered?: undefined; entry?: undefined; replayed: StoredAnswer };

/** A submission that waits for its answer. */
export interface Job extends Submission {
  enqueuedAt: number;
  resolve: (answer: Answer<Command>) => void;
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
