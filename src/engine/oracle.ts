import type { ResolutionEvidence } from "../domain/audit/audit-shapes.ts";
import { Fault } from "../domain/fault.ts";
import type { HoldReason } from "../domain/market/hold.ts";
import { statusAt } from "../domain/market/market.ts";
import { type CommandKind, marketNeeds, need, requireMarket } from "./command.ts";
import type { Draft } from "./draft.ts";
import { type Market, type MarketState, SINGLE, type Watch } from "./rows.ts";

/** The reason of an oracle's settlement, as stated in `oracle.resolved`. */
export interface OracleEvidence {
  /** The address that returned the outcome; null for the built-in oracle. */
  resolutionUrl: string | null;
  evidence: ResolutionEvidence;
}

/** Lets the sweep find the market by its deciding instant, from its creation on. */
export function watchMarket(draft: Draft, marketId: string, instantAt: number): void {
  draft.put("watch", marketId, newWatch(marketId, instantAt, true));
}

/** A new watch without findings. */
export function newWatch(marketId: string, instantAt: number, parsed: boolean): Watch {
  return { marketId, instantAt, parsed, settled: false, hold: null, version: 0 };
}

/**
 * Checked in the commit itself, whatever the sweep saw before: an operator may have suspended the market or chosen
 * another oracle meanwhile.
 * @throws Fault MARKET_SUSPENDED, or REFUSED if the market is still open or the policy names another oracle
 */
export function requireOracleMaySettle(
  draft: Draft,
  { market, marketState, oracle }: { market: Market; marketState: MarketState; oracle: OracleEvidence },
  now: number,
): void {
  if (marketState.status === "suspended")
    throw new Fault("MARKET_SUSPENDED", "The oracle does not settle suspended markets");
  if (statusAt({ status: marketState.status, closeAt: market.closeAt }, now) === "open")
    throw new Fault("REFUSED", "The market has not closed yet");
  const { resolution_url: url } = draft.get("tenant", SINGLE)?.policy ?? { resolution_url: null };
  if ((url || null) !== oracle.resolutionUrl) throw new Fault("REFUSED", "The policy now names another oracle");
}

/** Ends the watch, also after a manual settlement. */
export function endWatch(draft: Draft, marketId: string): void {
  const watch = draft.get("watch", marketId);
  if (watch) draft.put("watch", marketId, { ...watch, settled: true });
}

/**
 * Records that a due market waits for a person. A market that is not open, or is already held for the same reason,
 * stays as it is: the first detail of a reason is kept.
 */
export const holdMarket: CommandKind<{ marketId: string; reason: HoldReason; detail: string }, { recorded: boolean }> =
  {
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
