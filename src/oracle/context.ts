import { Fault } from "../domain/fault.ts";
import type { HoldReason } from "../domain/market/hold.ts";
import type { OracleEvidence } from "../engine/oracle.ts";
import { SYSTEM_ACTOR } from "../services/sweepers.ts";
import type { TenantServices } from "../services/tenant/tenant.ts";
import type { FetchContext } from "./fetch.ts";

/** What a sweep works with. */
export interface OracleContext extends FetchContext {
  services: Pick<TenantServices, "pool" | "sequencer" | "oracle">;
  /** Signs requests to `resolution_url`; undefined where the tenant has no secret for it. */
  resolutionSecrets: readonly string[];
  /** Milliseconds between two sweeps. */
  sweepMs: number;
  memory: SweepMemory;
}

/** What one sweep of a process leaves for its next. Nothing rests on it: a new process begins anew. */
export interface SweepMemory {
  /** When observations past their time were last deleted, by the database's clock. */
  prunedAt: number;
  /** The last market that `resolution_url` was asked about; the next sweep goes on behind it, or from the start for "". */
  askedUpTo: string;
}

/** Of a process that has not swept yet. */
export function newMemory(): SweepMemory {
  return { prunedAt: 0, askedUpTo: "" };
}

/** What a sweep did. */
export interface SweepReport {
  /** Markets that were looked at: due, or near the instant that decides them. */
  watched: number;
  /** Requests for prices, or to `resolution_url`. */
  asked: number;
  settled: string[];
  /** Markets whose time has come and that wait, with their reasons. */
  held: { marketId: string; reason: string }[];
  /** What went wrong with single markets, beyond what they are held for. */
  failures: unknown[];
  /** When the next sweep should run at the latest, by the same clock; null when the usual time will do. */
  wakeAt: number | null;
}

/** Another process or an operator decided the market first: it is left as it is. */
const ALREADY_DECIDED = new Set(["MARKET_SETTLED", "MARKET_SUSPENDED", "REFUSED", "MARKET_NOT_FOUND"]);
/** With these no other market would fare better, so the sweep ends and the next one tries again. */
const RETRY_NEXT_SWEEP = new Set(["DATABASE_UNAVAILABLE", "OUTCOME_UNKNOWN", "OVERLOADED"]);

/** Does what concerns one market. What goes wrong with it is told of, and the sweep goes on with the others. */
export async function apart(report: SweepReport, work: () => Promise<void> | void): Promise<void> {
  try {
    await work();
  } catch (error) {
    const code = error instanceof Fault ? error.code : "INTERNAL";
    if (RETRY_NEXT_SWEEP.has(code)) throw error;
    if (!ALREADY_DECIDED.has(code)) report.failures.push(error);
  }
}

/** Settles as the settlement by hand does, with the evidence in the same commit. */
export async function settleMarket(
  { services }: OracleContext,
  market: { marketId: string; outcome: "yes" | "no"; oracle: OracleEvidence },
  report: SweepReport,
): Promise<void> {
  await services.sequencer.submit({ command: { type: "settleMarket", ...market }, actor: SYSTEM_ACTOR });
  report.settled.push(market.marketId);
}

/** Holds a market; the engine writes only what changes. */
export async function holdMarket(
  { services }: OracleContext,
  hold: { marketId: string; reason: HoldReason; detail: string },
  report: SweepReport,
): Promise<void> {
  await services.sequencer.submit({ command: { type: "holdMarket", ...hold }, actor: SYSTEM_ACTOR });
  report.held.push({ marketId: hold.marketId, reason: hold.reason });
}

/** Of a sweep that has seen nothing yet. */
export function emptyReport(): SweepReport {
  return { watched: 0, asked: 0, settled: [], held: [], failures: [], wakeAt: null };
}
