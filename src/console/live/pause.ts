const LEAST_MS = 1000;
const SLOW_MS = 1000;

/**
 * How long to wait after a read before it is repeated. Reads that take long are repeated less often: at most a fifth of
 * the time goes into them, and a twentieth into reports of a large tenant, which no single trade changes much.
 */
export const pauseAfter = (tookMs: number, isReport = false): number =>
  Math.max(LEAST_MS, tookMs * (isReport && tookMs >= SLOW_MS ? 19 : 4));
