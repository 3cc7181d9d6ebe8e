import { needsOwnBatch } from "../../engine/commands.ts";
import { isQuiet, type Prepared } from "./batch.ts";
import type { Job } from "./job.ts";

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
