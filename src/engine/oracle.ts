import type { ResolutionEvidence } from "../domain/audit/audit-payloads.ts";
import { Fault } from "../domain/fault.ts";
import type { HoldReason } from "../domain/market/hold.ts";
import { type Side, statusAt } from "../domain/market/market.ts";
import { type CommandKind, marketNeeds, need } from "./command.ts";
import type { Draft } from "./draft.ts";
import { requireMarket } from "./required.ts";
import { type Market, type MarketState, SINGLE, type Watch } from "./rows.ts";

/** What a machine settles by, as it stands in `oracle.resolved`. */
export interface OracleEvidence {
  /** The address that said the outcome; null for the built-in oracle. */
  resolutionUrl: string | null;
  evidence: ResolutionEvidence;
}

export interface Resolution {
  marketId: string;
  outcome: Side;
  /** Present when a machine settles: what it goes by, for the record. */
  oracle?: OracleEvidence | undefined;
}

/** Puts on record, once per reason, that a market waits although its time has come. */
export interface HoldMarket {
  type: "holdMarket";
  marketId: string;
  reason: HoldReason;
  /** For people; of several texts for one reason the first stays. */
  detail: string;
}

/** From its creation on, the sweep finds the market by the instant that decides it. */
export function watchMarket(draft: Draft, marketId: string, instantAt: number): void {
  draft.put("watch", marketId, newWatch(marketId, instantAt, true));
}

function newWatch(marketId: string, instantAt: number, parsed: boolean): Watch {
  return { marketId, instantAt, parsed, settled: false, hold: null, version: 0 };
}

/**
 * Judged in the commit itself, whatever the sweep saw before: an operator who suspends a market, or names another oracle,
 * has the last word.
 * @throws Fault MARKET_SUSPENDED, or REFUSED when the market is open still or another oracle decides by now
 */
export function requireOracleMaySettle(
  draft: Draft,
  { market, marketState, oracle }: { market: Market; marketState: MarketState; oracle: OracleEvidence },
  now: number,
): void {
  if (marketState.status === "suspended") throw new Fault("MARKET_SUSPENDED", "A suspended market is left alone");
  if (statusAt({ status: marketState.status, closeAt: market.closeAt }, now) === "open")
    throw new Fault("REFUSED", "The market has not closed yet");
  const { resolution_url: url } = draft.get("tenant", SINGLE)?.policy ?? { resolution_url: null };
  if ((url || null) !== oracle.resolutionUrl) throw new Fault("REFUSED", "Another oracle decides by now");
}

/** Ends the watch, by whichever hand the market was settled, and keeps the evidence of a machine in the same commit as its settlement. */
export function recordResolution(draft: Draft, { marketId, outcome, oracle }: Resolution): void {
  const watch = draft.get("watch", marketId);
  if (watch) draft.put("watch", marketId, { ...watch, settled: true });
  if (oracle) draft.record("oracle.resolved", { ...oracle.evidence, marketId, outcome });
}

/** Puts a hold on record; one for the reason that holds already, or of a market that is not open, changes nothing. */
export const holdMarket: CommandKind<HoldMarket, { recorded: boolean }> = {
  needs: ({ marketId }) => [...marketNeeds(marketId), need("watch", marketId)],
  decide(draft, command, now) {
    const { marketId, reason, detail } = command;
    const { market, marketState } = requireMarket(draft, marketId);
    const watch = draft.get("watch", marketId) ?? newWatch(marketId, market.closeAt, false);
    if (marketState.status !== "open" || watch.hold?.reason === reason) return { recorded: false };
    draft.put("watch", marketId, { ...watch, hold: { reason, detail, at: now } });
    draft.record("oracle.held", { marketId, reason, detail });
    return { recorded: true };
  },
};
