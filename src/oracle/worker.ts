import type { OracleContext, SweepReport } from "./context.ts";
import { sweep } from "./sweep.ts";

/** Between two sweeps at the least, however many instants are near. */
const SHORTEST_PAUSE_MS = 250;

export interface OracleWorker {
  /** Milliseconds since the last sweep ended, by the process's own clock; null before the first. */
  ageMs(): number | null;
  stop(): Promise<void>;
}

/**
 * Sweeps until stopped: every `sweepMs`, and near the instants that decide markets. One sweep follows the other, so a slow
 * one delays the next and never overlaps it.
 * @param onError told of the first failure of a row only: while the database is away every sweep fails alike
 * @param onSweep told of each sweep that ran to its end
 */
export function startOracle(
  context: OracleContext,
  onError: (error: unknown) => void,
  onSweep: (report: SweepReport) => void = () => {},
): OracleWorker {
  let stopped = false;
  let failing = false;
  let endedAt: number | null = null;
  let wake = () => {};
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async () => {
    while (!stopped) {
      let pauseMs = context.sweepMs;
      const startedAt = performance.now();
      try {
        const report = await sweep(context);
        endedAt = performance.now();
        failing = false;
        onSweep(report);
        for (const failure of report.failures) onError(failure);
        if (report.wakeAt !== null) pauseMs = Math.min(pauseMs, report.wakeAt - (await context.now()));
        pauseMs -= pauseMs === context.sweepMs ? performance.now() - startedAt : 0;
      } catch (error) {
        if (!failing) onError(error);
        failing = true;
      }
      if (!stopped) await pause(Math.max(SHORTEST_PAUSE_MS, pauseMs));
    }
  };
  const running = run();
  return {
    ageMs: () => (endedAt === null ? null : performance.now() - endedAt),
    stop: async () => {
      stopped = true;
      wake();
      await running;
    },
  };
}
