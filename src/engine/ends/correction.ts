import { Fault, invariant } from "../../domain/fault.ts";
import { fromAndTo } from "../../domain/market/ends.ts";
import { type Outcome, outcomeOnRecord } from "../../domain/market/outcome.ts";
import { decimalFromMicro } from "../../domain/money.ts";
import { rulesOf } from "../../domain/policy/approvals.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/units.ts";
import { governed, marketSubject } from "../approvals/proposals.ts";
import { type CommandKind, need, requireMarket, requireTenant, TENANT } from "../command.ts";
import type { Draft } from "../draft.ts";
import type { MarketState } from "../rows.ts";
import { type Correction, correctionOf, endRow } from "./ending.ts";
import { refundNeeds, requireKnown, requireTreasuryHolds, requireTreasuryMayPay, termsOfMarket } from "./settlement.ts";

interface CorrectMarket {
  marketId: string;
  outcome: Outcome;
  reason: string;
  /** What the decision rests on, in words. */
  evidence?: string | undefined;
  /** If it waited as a proposal: when it was proposed, and from when it could be carried out. */
  proposed?: { at: number; finalAt: number } | undefined;
  /** The present outcome as the caller saw it. */
  expectOutcome?: Outcome | undefined;
  /** What users would owe of it as the caller saw it, in micro-dollars. */
  expectReceivablesMicro?: bigint | undefined;
  /** The most that the treasury may add, in micro-dollars; without it, whatever is needed. */
  maxTreasuryMicro?: bigint | undefined;
}

/** The result of a correction, in micro-dollars. */
interface Corrected extends Omit<Correction, "moves"> {
  id: string;
  from: Outcome;
  outcome: Outcome;
  correctedAt: number;
}

/** How long after its hold a correction that was proposed in time may wait for approvals, or for a decision about objections. */
const DECIDED_WITHIN_MS = 7 * DAY_MS;

/** The last instant, exclusive, at which a proposed correction is carried out, in milliseconds since the epoch. */
export function lapsesAt(finalAt: number): number {
  return finalAt + DECIDED_WITHIN_MS;
}

/** The last instant, exclusive, at which a settlement can be corrected, in milliseconds since the epoch. */
export function correctableUntil(settledAt: number, correctionHours: number): number {
  return settledAt + correctionHours * HOUR_MS;
}

/**
 * The outcome that a correction replaces.
 * @throws Fault MARKET_NOT_SETTLED, CORRECTION_CLOSED, OUTCOME_UNCHANGED
 */
export function requireCorrectable(
  { outcome: from, settledAt }: Pick<MarketState, "outcome" | "settledAt">,
  { to, correctionHours }: { to: Outcome; correctionHours: number },
  now: number,
): Outcome {
  if (from === null || settledAt === null) throw new Fault("MARKET_NOT_SETTLED", "Market is not settled");
  const until = correctableUntil(settledAt, correctionHours);
  if (now >= until)
    throw new Fault(
      "CORRECTION_CLOSED",
      correctionHours === 0
        ? "Settlements are final: resolution.correctionHours is 0"
        : `The settlement has been final since ${new Date(until).toISOString()}`,
      { detail: { field: "resolution.correctionHours", limit: correctionHours } },
    );
  if (from === to) throw new Fault("OUTCOME_UNCHANGED", "The market has this outcome already");
  return from;
}

/**
 * Replaces a settlement's outcome: takes back what the last one paid too much, and pays what it paid too little. Both
 * decisions stay on record, and `settledAt` stays the time of the first.
 * @throws Fault as `requireCorrectable`, and MARKET_NOT_FOUND, EXPECTATION_NOT_MET, TREASURY_INSUFFICIENT
 */
const correctNow: CommandKind<CorrectMarket, Corrected> = {
  needs: ({ marketId }) => [
    ...refundNeeds(marketId),
    need("holderDebts", marketId),
    need("marketEnd", marketId),
    TENANT,
  ],
  ownBatch: true,
  decide(draft, command, now) {
    const { proposed, outcome: to } = command;
    const { correctionHours } = rulesOf(requireTenant(draft)).resolution;
    const { marketState } = requireMarket(draft, command.marketId);
    requireCorrectable(marketState, { to, correctionHours }, proposed?.at ?? now);
    if (proposed && now >= lapsesAt(proposed.finalAt)) throw lapsed(lapsesAt(proposed.finalAt));
    return correct(draft, command, now);
  },
};

export const correctMarket = governed(correctNow, {
  kind: "correct",
  about: ({ marketId, outcome, reason }) => ({ subject: marketSubject(marketId), marketId, outcome, reason }),
  terms: termsOfMarket,
});

function lapsed(endedAt: number): Fault {
  const until = new Date(endedAt).toISOString();
  const message = `The proposed correction lapsed at ${until}, seven days after its hold: reject the proposal`;
  return new Fault("CORRECTION_CLOSED", message, { detail: { limit: until } });
}

/** The correction without the time limit, as replaying the log repeats it. */
export function correct(draft: Draft, command: CorrectMarket, now: number): Corrected {
  const { marketId, outcome, reason, expectOutcome = null, expectReceivablesMicro, maxTreasuryMicro } = command;
  const ending = requireKnown(draft, marketId);
  const { marketState } = ending;
  const from = marketState.outcome;
  invariant(from !== null, "only a settled market is corrected");
  if (expectOutcome !== null && expectOutcome !== from)
    throw new Fault(
      "EXPECTATION_NOT_MET",
      `The present outcome is ${from}, which is not the expected ${expectOutcome}: nothing was paid`,
    );
  const known = draft.get("marketEnd", marketId) ?? { reason: null, corrections: [], version: 0 };
  const { moves, ...sums } = correctionOf(ending, { from, to: outcome }, (id) => draft.account(id).balanceMicro);
  // Payments to wallets and out of them change this sum alone: the positions are closed.
  const owedMicro = sums.receivablesMicro;
  if (expectReceivablesMicro !== undefined && expectReceivablesMicro !== owedMicro)
    throw new Fault(
      "EXPECTATION_NOT_MET",
      `Users would owe ${decimalFromMicro(owedMicro)} USD of what is taken back, which is not the expected ${decimalFromMicro(expectReceivablesMicro)} USD: nothing was paid`,
    );
  requireTreasuryMayPay("The correction", fromAndTo(sums.treasuryMicro).fromTreasuryMicro, maxTreasuryMicro);
  requireTreasuryHolds(draft, -sums.treasuryMicro);
  for (const { debit, credit, amountMicro } of moves) draft.transfer(debit, credit, amountMicro);
  draft.put("marketState", marketId, { ...marketState, outcome });
  draft.put("marketEnd", marketId, {
    ...known,
    ...endRow(ending, outcome),
    corrections: [...known.corrections, { from, to: outcome, at: now, reason }],
  });
  draft.record("market.corrected", {
    marketId,
    from: outcomeOnRecord(from),
    outcome: outcomeOnRecord(outcome),
    reason,
    takenBack: decimalFromMicro(sums.takenBackMicro),
    receivables: decimalFromMicro(sums.receivablesMicro),
    paid: decimalFromMicro(sums.paidMicro),
    evidence: command.evidence,
  });
  return { id: marketId, from, outcome, correctedAt: now, ...sums };
}
