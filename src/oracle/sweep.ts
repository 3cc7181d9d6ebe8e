import { DAY_MS, HOUR_MS } from "../domain/time/units.ts";
import { pruneTicks, recordSweep } from "../ledger/unchained/oracle-ticks.ts";
import { readPolicy } from "../services/configuration/policy.ts";
import type { OracleContext, SweepReport } from "./context.ts";
import { sweepFeeds } from "./sweep-feeds.ts";
import { sweepResolutionUrl } from "./sweep-url.ts";

const TICK_LIFE_MS = 30 * DAY_MS;
const PRUNE_EVERY_MS = HOUR_MS;

/**
 * Handles every market that is due, or near the instant that decides it. Any number of processes may sweep at once:
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
