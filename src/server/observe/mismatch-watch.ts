import type { Logger } from "pino";
import { monotonicMs } from "../../domain/time/clock.ts";
import { onMismatch } from "../../services/answers.ts";
import type { Metrics } from "./metrics.ts";

/** One row that does not fit is read again and again; the counter tells how often. */
const LOG_INTERVAL_MS = 60_000;

/** Counts answers that are not what the contract says, and logs one a minute of each operation. Returns how to end that. */
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
