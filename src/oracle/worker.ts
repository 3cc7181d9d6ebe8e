import { DAY_MS, HOUR_MS } from "../domain/time/units.ts";
import { pruneTicks, recordSweep } from "../ledger/unchained/oracle-ticks.ts";
import { readNextInstant } from "../queries/oracle.ts";
import { repeat } from "../services/background/repeat.ts";
import { readPolicy } from "../services/configuration/policy.ts";
import type { OracleContext, SweepReport } from "./context.ts";
import { LAST_LOOK_MS, sweepFeeds } from "./sweep-feeds.ts";
import { sweepResolutionUrl } from "./sweep-url.ts";

/** How long the worker sleeps between two checks of the clock. */
const PAUSE_MS = 400;
const TICK_LIFE_MS = 30 * DAY_MS;
const PRUNE_EVERY_MS = HOUR_MS;

/**
 * Handles every market that is due or close to its deciding instant. Any number of processes may sweep at once:
 * observations are stored once, and the engine settles and holds once. Each sweep reads from the policy which oracle
 * decides.
 */
export async function sweep(context: OracleContext): Promise<SweepReport> {
  const { memory, services } = context;
  const { pool } = services;
  const now = await context.now();
  const { value: policy } = await pool.read(readPolicy);
  const report = policy.resolution_url
    ? await sweepResolutionUrl(context, policy.resolution_url, now)
    : await sweepFeeds(context, now);
  await pool.note((sql) => recordSweep(sql, now));
  if (now - memory.prunedAt > PRUNE_EVERY_MS) {
    memory.prunedAt = now;
    await pool.note((sql) => pruneTicks(sql, now - TICK_LIFE_MS));
  }
  return report;
}

export interface OracleWorker {
  /** Milliseconds since the last sweep ended, by the process's own clock; null before the first. */
  ageMs(): number | null;
  stop(): Promise<void>;
}

/**
 * Sweeps until stopped: every `sweepMs`, and near deciding instants. Sweeps never overlap: a slow sweep delays the
 * next.
 * @param onError called for the first of consecutive failed sweeps, because all fail alike while the database is away
 * @param onSweep called after each completed sweep
 * @param isMine whether this process sweeps now; while another does, this one has no last sweep
 */
export function startOracle(
  context: OracleContext,
  onError: (error: unknown) => void,
  onSweep: (report: SweepReport) => void = () => {},
  isMine: () => boolean = () => true,
): OracleWorker {
  let [nextAt, endedAt]: [number, number | null] = [0, null];
  const sweepOnce = async (): Promise<number | null> => {
    const report = await sweep(context);
    endedAt = performance.now();
    onSweep(report);
    for (const failure of report.failures) onError(failure);
    return report.wakeAt;
  };
  const round = async () => {
    if (!isMine()) {
      [nextAt, endedAt] = [0, null];
      return;
    }
    const now = await context.now();
    // Read again each time, because a new market may close before the next sweep.
    const instant = await context.services.pool.read((sql) => readNextInstant(sql, now));
    const lookAt = Math.min(nextAt, instant === null ? nextAt : instant - LAST_LOOK_MS);
    if (now >= lookAt) nextAt = Math.min(now + context.sweepMs, (await sweepOnce()) ?? Number.POSITIVE_INFINITY);
  };
  const rounds = repeat(round, { pauseMs: Math.min(PAUSE_MS, context.sweepMs), onError });
  return {
    ageMs: () => (endedAt === null ? null : performance.now() - endedAt),
    stop: rounds.stop,
  };
}
