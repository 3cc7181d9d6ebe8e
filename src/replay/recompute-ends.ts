import { escrowOf } from "../domain/accounts.ts";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { fromAndTo } from "../domain/market/ends.ts";
import { type Outcome, outcomeOf, outcomeOnRecord } from "../domain/market/outcome.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { rulesOf } from "../domain/policy/approvals.ts";
import { correctableUntil } from "../engine/ends/correction.ts";
import { correctionOf, endingOf, sumsOf } from "../engine/ends/ending.ts";
import { SINGLE } from "../engine/rows.ts";
import type { LoggedRows } from "./logged-rows.ts";
import { differing, type Problem } from "./problem.ts";

const missing = (about: string): Problem[] => [
  { about, what: "market", recorded: "settled", recomputed: "it does not exist" },
];

/** What each position gets follows from the outcome; the rest of the escrow belongs to the pool and the house. */
export function settlementProblems(rows: LoggedRows, payload: AuditPayloads["market.settled"]): Problem[] {
  const { marketId } = payload;
  const outcome = outcomeOf(payload.outcome);
  const ending = endingOf(rows, marketId);
  if (!ending) return missing(marketId);
  const sums = sumsOf(ending, outcome);
  return differing(marketId, {
    ...endedOnce(rows, marketId, sums.escrowMicro),
    payouts: [String(payload.payouts), String(sums.payouts)],
    paid: [payload.paid, decimalFromMicro(sums.paidMicro)],
    returned: [payload.returned, decimalFromMicro(sums.treasuryMicro)],
    houseResult: [payload.houseResult, decimalFromMicro(sums.houseResultMicro)],
  });
}

/** Open positions get back what they cost; the fees among it come from the house. */
export function voidProblems(rows: LoggedRows, payload: AuditPayloads["market.voided"]): Problem[] {
  const { marketId } = payload;
  const ending = endingOf(rows, marketId);
  if (!ending) return missing(marketId);
  const sums = sumsOf(ending, "void");
  const { fromTreasuryMicro, toTreasuryMicro } = fromAndTo(sums.treasuryMicro);
  return differing(marketId, {
    ...endedOnce(rows, marketId, sums.escrowMicro),
    payoutsProcessed: [String(payload.payoutsProcessed), String(sums.payouts)],
    refunded: [payload.refunded, decimalFromMicro(sums.paidMicro)],
    fromFees: [payload.fromFees, decimalFromMicro(sums.feesMicro)],
    fromTreasury: [payload.fromTreasury, decimalFromMicro(fromTreasuryMicro)],
    toTreasury: [payload.toTreasury, decimalFromMicro(toTreasuryMicro)],
  });
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
  return differing(marketId, {
    from: [textOf(from), outcome === null ? "not settled" : textOf(outcome)],
    "corrected in time": [
      String(settledAt !== null && askedAt(rows, marketId, at) < correctableUntil(settledAt, correctionHours)),
      "true",
    ],
    takenBack: [payload.takenBack, decimalFromMicro(sums.takenBackMicro)],
    receivables: [payload.receivables, decimalFromMicro(sums.receivablesMicro)],
    paid: [payload.paid, decimalFromMicro(sums.paidMicro)],
  });
}

/** When a correction was asked for: it may have waited as a proposal, which its own entry follows. */
function askedAt(rows: LoggedRows, marketId: string, at: number): number {
  for (const [, proposal] of rows.of("proposal"))
    if (proposal.marketId === marketId && proposal.status === "pending") return proposal.proposedAt;
  return at;
}

const textOf = (outcome: Outcome): string => canonicalJson(outcomeOnRecord(outcome));
