/** Who acts where nobody does: closings, ends of overrides, holds and resolutions are the machine's own doing. */
export const SYSTEM_ACTOR = "oracle";

/** Something that is done again and again until it is stopped. */
export interface Sweeper {
  /** Waits for a sweep that is under way. */
  stop(): Promise<void>;
}

/**
 * Sweeps at an interval, never two at once.
 * @param onError told of the first failure of a row only: while the database is away every sweep fails alike
 */
export function startSweeper(
  sweep: () => Promise<unknown>,
  intervalMs: number,
  onError: (error: unknown) => void,
): Sweeper {
  let failing = false;
  let sweeping: Promise<void> | undefined;
  const run = async () => {
    try {
      await sweep();
      failing = false;
    } catch (error) {
      if (!failing) onError(error);
      failing = true;
    } finally {
      sweeping = undefined;
    }
  };
  const timer = setInterval(() => {
    sweeping ??= run();
  }, intervalMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await sweeping;
    },
  };
}
