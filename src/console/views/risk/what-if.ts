import type { WireResult } from "../../../contract/operations.ts";

export type Risk = Pick<WireResult<"listRisk">[number], "marketId" | "maxLiability" | "yesPayout" | "noPayout">;
/** How markets are supposed to settle, by id; the others stay as they are. */
export type Supposed = Readonly<Record<string, "yes" | "no">>;

/** What the house can lose at most, in dollars, with the markets that are supposed to settle counted by their outcome. */
export interface WorstCase {
  /** Of every market, whatever its outcome. */
  worst: number;
  /** Of the supposed outcomes; below 0 for a gain. */
  supposed: number;
  /** Of the markets without a supposed outcome. */
  rest: number;
}

export function worstCase(risks: readonly Risk[], supposed: Supposed): WorstCase {
  const sum = { worst: 0, supposed: 0, rest: 0 };
  for (const risk of risks) {
    sum.worst += micro(risk.maxLiability);
    const outcome = supposed[risk.marketId];
    if (outcome) sum.supposed += micro(lossIf(risk, outcome));
    else sum.rest += micro(risk.maxLiability);
  }
  return { worst: sum.worst / MICRO, supposed: sum.supposed / MICRO, rest: sum.rest / MICRO };
}

/**
 * What the house loses if the market settles so, in dollars; below 0 for a gain. The stakes are the worse payout less
 * the most that the house can lose. Where it can lose nothing, the stakes are not known, and the gain counts as 0.
 */
export function lossIf({ maxLiability, yesPayout, noPayout }: Risk, outcome: "yes" | "no"): number {
  if (maxLiability === 0) return 0;
  const stakes = micro(Math.max(yesPayout, noPayout)) - micro(maxLiability);
  return (micro(outcome === "yes" ? yesPayout : noPayout) - stakes) / MICRO;
}

/** Sums are whole numbers, so that no cent is lost. */
const MICRO = 1e6;
const micro = (dollars: number): number => Math.round(dollars * MICRO);
