import type { Serving } from "./serving.ts";

const CRASH_CHECK_MS = 1000;

/** Brings the embedded database back after a crash; one that was stopped on purpose stays down. */
export function watchCluster({ database: { cluster }, services, log }: Serving): () => void {
  if (!cluster) return () => {};
  let checking = false;
  const timer = setInterval(async () => {
    if (checking) return;
    checking = true;
    try {
      if (!(await services.isDatabaseUp()) && (await cluster.restartAfterCrash()))
        log.warn("The embedded database had crashed and was started again");
    } catch (error) {
      log.error({ err: error }, "The embedded database cannot be started");
    } finally {
      checking = false;
    }
  }, CRASH_CHECK_MS);
  return () => clearInterval(timer);
}
