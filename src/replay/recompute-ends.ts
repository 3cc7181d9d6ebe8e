import { escrowOf } from "../domain/accounts.ts";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { fromAndTo } from "../domain/market/ends.ts";
import { type Outcome, outcomeOf, outcomeOnRecord } from "../domain/market/outcome.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { rulesOf } from "../domain/policy/approvals.ts";
import { marketSubject, waitingProposal } from "../engine/approvals/proposals.ts";
import { correctableUntil, lapsesAt } from "../engine/ends/correction.ts";
import { correctionOf, endingOf, sumsOf } from "../engine/ends/ending.ts";
import { SINGLE } from "../engine/rows.ts";
import type { LoggedRows } from "./logged-rows.ts";
import { differing, type Problem } from "./problem.ts";
import { ungovernedEnd } from "./recompute-approvals.ts";

const missing = (about: string): Problem[] => [
  { about, what: "market", recorded: "settled", recomputed: "it does not exist" },
];

/** What each position gets follows from the outcome; the rest of the escrow belongs to the pool and the house. */
export function settlementProblems(rows: LoggedRows, payload: AuditPayloads["market.settled"], at: number): Problem[] {
  const { marketId } = payload;
  const outcome = outcomeOf(payload.outcome);
  const ending = endingOf(rows, marketId);
  if (!ending) return missing(marketId);
  const sums = sumsOf(ending, outcome);
  const problems = differing(marketId, {
    ...endedOnce(rows, marketId, sums.escrowMicro),
    payouts: [String(payload.payouts), String(sums.payouts)],
    paid: [payload.paid, decimalFromMicro(sums.paidMicro)],
    returned: [payload.returned, decimalFromMicro(sums.treasuryMicro)],
    houseResult: [payload.houseResult, decimalFromMicro(sums.houseResultMicro)],
  });
  return [...problems, ...ungovernedEnd(rows, { marketId, kind: "settle", outcome }, at)];
}

/** Open positions get back what they cost; the fees among it come from the house. */
export function voidProblems(rows: LoggedRows, payload: AuditPayloads["market.voided"], at: number): Problem[] {
  const { marketId } = payload;
  const ending = endingOf(rows, marketId);
  if (!ending) return missing(marketId);
  const sums = sumsOf(ending, "void");
  const { fromTreasuryMicro, toTreasuryMicro } = fromAndTo(sums.treasuryMicro);
  const problems = differing(marketId, {
    ...endedOnce(rows, marketId, sums.escrowMicro),
    payoutsProcessed: [String(payload.payoutsProcessed), String(sums.payouts)],
    refunded: [payload.refunded, decimalFromMicro(sums.paidMicro)],
    fromFees: [payload.fromFees, decimalFromMicro(sums.feesMicro)],
    fromTreasury: [payload.fromTreasury, decimalFromMicro(fromTreasuryMicro)],
    toTreasury: [payload.toTreasury, decimalFromMicro(toTreasuryMicro)],
  });
  return [...problems, ...ungovernedEnd(rows, { marketId, kind: "void", outcome: "void" }, at)];
}

function endedOnce(rows: LoggedRows, marketId: string, outstandingMicro: bigint) {
  const isSettled = rows.get("marketState", marketId)?.status === "settled";
  const escrow = decimalFromMicro(rows.balance(escrowOf(marketId)));
  return {
    "settled twice": [String(isSettled), "false"],
    "shares outstanding": [escrow, isSettled ? escrow : decimalFromMicro(outstandingMicro)],
  } as const;
}

/** Users give back or get the difference of both outcomes, within the time that the tenant allowed then. */
export function correctionProblems(
  rows: LoggedRows,
  payload: AuditPayloads["market.corrected"],
  at: number,
): Problem[] {
  const { marketId } = payload;
  const [from, to] = [outcomeOf(payload.from), outcomeOf(payload.outcome)];
  const [ending, tenant] = [endingOf(rows, marketId), rows.get("tenant", SINGLE)];
  if (!ending) return missing(marketId);
  const { settledAt, outcome } = ending.marketState;
  const { correctionHours } = rulesOf(tenant ?? { document: "" }).resolution;
  const sums = correctionOf(ending, { from, to }, (account) => rows.balance(account));
  // A correction that waited follows the time of its proposal, whose own entry follows it.
  const proposed = waitingProposal(rows, marketSubject(marketId));
  const problems = differing(marketId, {
    from: [textOf(from), outcome === null ? "not settled" : textOf(outcome)],
    "corrected in time": [
      String(
        settledAt !== null &&
          (proposed?.proposedAt ?? at) < correctableUntil(settledAt, correctionHours) &&
          (proposed === undefined || at < lapsesAt(proposed.finalAt)),
      ),
      "true",
    ],
    takenBack: [payload.takenBack, decimalFromMicro(sums.takenBackMicro)],
    receivables: [payload.receivables, decimalFromMicro(sums.receivablesMicro)],
    paid: [payload.paid, decimalFromMicro(sums.paidMicro)],
  });
  return [...problems, ...ungovernedEnd(rows, { marketId, kind: "correct", outcome: to }, at)];
}

const textOf = (outcome: Outcome): string => canonicalJson(outcomeOnRecord(outcome));
