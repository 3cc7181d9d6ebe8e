import { canonicalJson, type Json } from "../domain/audit/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import type { HoldReason } from "../domain/market/hold.ts";
import type { Command } from "../engine/commands.ts";
import type { OracleEvidence } from "../engine/oracle.ts";
import { SYSTEM_ACTOR } from "../services/background/sweepers.ts";
import type { TenantServices } from "../services/tenant/tenant.ts";
import type { FetchContext } from "./fetch.ts";

/** The context of a sweep. */
export interface OracleContext extends FetchContext {
  services: Pick<TenantServices, "pool" | "sequencer" | "oracle" | "auditKey" | "auditKeys" | "newId">;
  /** The secrets that sign requests to `resolution_url`; without secrets none is sent. */
  resolutionSecrets: readonly string[];
  /** Milliseconds between two sweeps. */
  sweepMs: number;
  memory: SweepMemory;
}

/** The state that one sweep leaves for the next in its process. A new process may begin without it. */
export interface SweepMemory {
  /** When expired observations were last deleted, by the database's clock. */
  prunedAt: number;
  /** The last market asked about at `resolution_url`: the next sweep continues after it; "" means from the start. */
  askedUpTo: string;
}

/** The memory of a process that has not swept yet. */
export function newMemory(): SweepMemory {
  return { prunedAt: 0, askedUpTo: "" };
}

/** The result of a sweep. */
export interface SweepReport {
  /** The number of markets that were due or close to their deciding instant. */
  watched: number;
  /** The number of requests for prices or to `resolution_url`. */
  asked: number;
  settled: string[];
  /** Due markets that are not settled, with their reasons. */
  held: { marketId: string; reason: string }[];
  /** Errors about single markets, in addition to the reasons of their holds. */
  failures: unknown[];
  /** The latest time for the next sweep, by the same clock; null for the usual time. */
  wakeAt: number | null;
}

/** Errors which mean that another process or an operator was faster: the market stays as it is. */
const ALREADY_DECIDED = new Set([
  ...["MARKET_SETTLED", "MARKET_SUSPENDED", "REFUSED", "MARKET_NOT_FOUND", "PROPOSAL_PENDING"],
]);
/** Failures that would affect every market: the sweep ends, and the next one tries again. */
const RETRY_NEXT_SWEEP = new Set(["DATABASE_UNAVAILABLE", "OUTCOME_UNKNOWN", "OVERLOADED", "STANDBY_REQUIRED"]);

/** Handles one market. A failure is reported, and the sweep continues with the others. */
export async function isolate(report: SweepReport, work: () => Promise<void> | void): Promise<void> {
  try {
    await work();
  } catch (error) {
    const code = error instanceof Fault ? error.code : "INTERNAL";
    if (RETRY_NEXT_SWEEP.has(code)) throw error;
    if (!ALREADY_DECIDED.has(code)) report.failures.push(error);
  }
}

/** Settles a market with the evidence in the same commit, or proposes it where the tenant's rules want more. */
export async function settleMarket(
  { services }: OracleContext,
  market: { marketId: string; outcome: "yes" | "no"; oracle: OracleEvidence; observedAt?: string | undefined },
  report: SweepReport,
): Promise<void> {
  const { marketId, outcome, oracle, observedAt } = market;
  const asked = {
    proposalId: services.newId("prp"),
    by: SYSTEM_ACTOR,
    request: canonicalJson({ operation: "settleMarket", marketId, outcome, oracle: { ...oracle } }),
    evidence: canonicalJson({ observedAt, ...proofOf(oracle) }),
  };
  const { result } = await services.sequencer.submit<Command<"settleMarket">>({
    command: { type: "settleMarket", marketId, outcome, oracle, asked },
    actor: SYSTEM_ACTOR,
  });
  if (result?.proposal) report.held.push({ marketId, reason: "proposed" });
  else report.settled.push(marketId);
}

/** The figures of an outcome, as a proposal shows them. */
function proofOf({ evidence: { ref, price, strike, observedAt } }: OracleEvidence): {
  [name: string]: Json | undefined;
} {
  return { ref, price, strike, ...(observedAt === undefined ? {} : { observedAt }) };
}

/** Holds a market. The engine writes nothing if it is already held for this reason. */
export async function holdMarket(
  { services }: OracleContext,
  hold: { marketId: string; reason: HoldReason; detail: string },
  report: SweepReport,
): Promise<void> {
  await services.sequencer.submit({ command: { type: "holdMarket", ...hold }, actor: SYSTEM_ACTOR });
  report.held.push({ marketId: hold.marketId, reason: hold.reason });
}

/** The report of a sweep that has not started. */
export function emptyReport(): SweepReport {
  return { watched: 0, asked: 0, settled: [], held: [], failures: [], wakeAt: null };
}
