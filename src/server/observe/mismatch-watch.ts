import type { Logger } from "pino";
import { monotonicMs } from "../../domain/time/clock.ts";
import { onMismatch } from "../../services/answers.ts";
import type { Metrics } from "./metrics.ts";

/** The same row may cause a mismatch at every read; the counter tells how often. */
const LOG_INTERVAL_MS = 60_000;

/** Counts answers that do not fit the contract, and logs one a minute for each operation, until the returned function is called. */
export function watchMismatches(metrics: Pick<Metrics, "countMismatch">, log: Logger): () => void {
  const loggedAt = new Map<string, number>();
  return onMismatch(({ operation, problem }) => {
    metrics.countMismatch(operation);
    const now = monotonicMs();
    if (now - (loggedAt.get(operation) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_MS) return;
    loggedAt.set(operation, now);
    log.error({ operation, problem }, "An answer was given that is not what the contract says");
  });
}
