import type { AuditEntry } from "../domain/audit-link.ts";
import type { Command, Results } from "../engine/commands.ts";
import type { StoredAnswer } from "../engine/rows.ts";
import type { Outcome, Submission } from "./batch.ts";

/** `entry` is the last one that the command wrote, sealed and committed; a command that changed nothing has none. */
export type Answer<C extends Command> =
  | { result: Results[C["type"]]; entry: AuditEntry | undefined; replayed?: undefined }
  | { result?: undefined; entry?: undefined; replayed: StoredAnswer };

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
    else if (outcome.kind === "done") resolve({ result: outcome.result, entry: outcome.entry });
    else resolve({ replayed: outcome.answer });
  }
}
