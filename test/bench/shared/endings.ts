import { constants } from "node:os";

/** What was started and has to be ended, in the order of its start. */
const endings = new Set<() => Promise<void>>();

/**
 * Has something ended with the bench, also when a signal interrupts it.
 * @returns what ends it before; a second call does nothing
 */
export function endedWithBench(end: () => Promise<void>): () => Promise<void> {
  endings.add(end);
  return async () => {
    if (endings.delete(end)) await end();
  };
}

/** By SIGINT or SIGTERM: ends what was started, the latest first, then the process. */
export function endOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, async () => {
      process.stderr.write("Interrupted: ending what was started\n");
      for (const end of [...endings].reverse()) await end().catch((error: unknown) => console.error(error));
      process.exit(128 + constants.signals[signal]);
    });
}
