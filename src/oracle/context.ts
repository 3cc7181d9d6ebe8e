import { Fault } from "../domain/fault.ts";
import type { HoldReason } from "../domain/market/hold.ts";
import type { OracleEvidence } from "../engine/oracle.ts";
import { SYSTEM_ACTOR } from "../services/background/sweepers.ts";
import type { TenantServices } from "../services/tenant/tenant.ts";
import type { FetchContext } from "./fetch.ts";

/** What a sweep works with. */
export interface OracleContext extends FetchContext {
  services: Pick<TenantServices, "pool" | "sequencer" | "oracle" | "auditKey" | "auditKeys">;
  /** The secrets that sign requests to `resolution_url`; without any none is sent. */
  resolutionSecrets: readonly string[];
  /** Milliseconds between two sweeps. */
  sweepMs: number;
  memory: SweepMemory;
}

/** What one sweep leaves for the next one of its process. A new process may begin without it. */
export interface SweepMemory {
  /** When expired observations were last deleted, by the database's clock. */
  prunedAt: number;
  /** The last market that `resolution_url` was asked about: the next sweep goes on after it, for "" from the start. */
  askedUpTo: string;
}

/** The memory of a process that has not swept yet. */
export function newMemory(): SweepMemory {
  return { prunedAt: 0, askedUpTo: "" };
}

/** The result of a sweep. */
export interface SweepReport {
  /** How many markets were due, or near the instant that decides them. */
  watched: number;
  /** How many requests went out for prices, or to `resolution_url`. */
  asked: number;
  settled: string[];
  /** Markets that are due and not settled, with their reasons. */
  held: { marketId: string; reason: string }[];
  /** Errors about single markets, beyond the reasons that they are held for. */
  failures: unknown[];
  /** When the next sweep should run at the latest, by the same clock; null when the usual time will do. */
  wakeAt: number | null;
}

/** Refusals that mean that another process or an operator was first: the market stays as it is. */
const ALREADY_DECIDED = new Set(["MARKET_SETTLED", "MARKET_SUSPENDED", "REFUSED", "MARKET_NOT_FOUND"]);
/** Failures that every other market would meet too: the sweep ends, and the next one tries again. */
const RETRY_NEXT_SWEEP = new Set(["DATABASE_UNAVAILABLE", "OUTCOME_UNKNOWN", "OVERLOADED", "STANDBY_REQUIRED"]);

/** Does the work about one market. Its failure is reported, and the sweep goes on with the others. */
export async function isolate(report: SweepReport, work: () => Promise<void> | void): Promise<void> {
  try {
    await work();
  } catch (error) {
    const code = error instanceof Fault ? error.code : "INTERNAL";
    if (RETRY_NEXT_SWEEP.has(code)) throw error;
    if (!ALREADY_DECIDED.has(code)) report.failures.push(error);
  }
}

/** Settles a market, with the evidence in the same commit. */
export async function settleMarket(
  { services }: OracleContext,
  market: { marketId: string; outcome: "yes" | "no"; oracle: OracleEvidence },
  report: SweepReport,
): Promise<void> {
  await services.sequencer.submit({ command: { type: "settleMarket", ...market }, actor: SYSTEM_ACTOR });
  report.settled.push(market.marketId);
}

/** Holds a market. The engine writes nothing when it is held for this reason already. */
export async function holdMarket(
  { services }: OracleContext,
  hold: { marketId: string; reason: HoldReason; detail: string },
  report: SweepReport,
): Promise<void> {
  await services.sequencer.submit({ command: { type: "holdMarket", ...hold }, actor: SYSTEM_ACTOR });
  report.held.push({ marketId: hold.marketId, reason: hold.reason });
}

/** The report of a sweep that has done nothing yet. */
export function emptyReport(): SweepReport {
  return { watched: 0, asked: 0, settled: [], held: [], failures: [], wakeAt: null };
}
