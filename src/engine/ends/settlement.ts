import { escrowOf, FEES, TREASURY } from "../../domain/accounts.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import { type EndSums, fromAndTo } from "../../domain/market/ends.ts";
import type { Owned } from "../../domain/market/holding.ts";
import { type Outcome, outcomeOnRecord, type Settled } from "../../domain/market/outcome.ts";
import { decimalFromMicro } from "../../domain/money.ts";
import { type Rules, type Terms, termsOfEnd } from "../../domain/policy/approvals.ts";
import { counted } from "../../domain/text.ts";
import { governed, marketSubject } from "../approvals/proposals.ts";
import { type CommandKind, marketNeeds, need, requireMarket, TENANT } from "../command.ts";
import type { Draft, Reader } from "../draft.ts";
import { portfolioAfter } from "../fill.ts";
import { endWatch, type OracleEvidence, requireOracleMaySettle } from "../oracle.ts";
import type { Need } from "../rows.ts";
import { type Ending, endingOf, endRow, movesOfEnd, sumsOf } from "./ending.ts";

/** The caller's expected payment; an end that would pay anything else is refused. */
export interface Expected {
  payouts?: number | undefined;
  totalMicro?: bigint | undefined;
}

interface SettleMarket {
  marketId: string;
  outcome: Settled;
  /** Set if an oracle settles; absent if an operator does. */
  oracle?: OracleEvidence | undefined;
  expect?: Expected | undefined;
  /** What the decision rests on, in words. */
  evidence?: string | undefined;
}

interface VoidMarket {
  marketId: string;
  reason: string;
  evidence?: string | undefined;
  expect?: Expected | undefined;
  /** The most that the treasury may add, in micro-dollars; without it, whatever is needed. */
  maxTreasuryMicro?: bigint | undefined;
}

/** The result of an end, in micro-dollars. */
export interface Ended<O extends Outcome = Outcome> extends EndSums {
  id: string;
  outcome: O;
  settledAt: number;
}

/** The rows that every end of a market reads. */
const endNeeds = (marketId: string): Need[] => [
  ...marketNeeds(marketId),
  need("watch", marketId),
  need("account", escrowOf(marketId)),
  need("account", TREASURY),
  need("holders", marketId),
];

/** The rows of an end that gives fees back. */
export const refundNeeds = (marketId: string): Need[] => [
  ...endNeeds(marketId),
  need("account", FEES),
  need("holderFees", marketId),
];

/**
 * Pays a dollar for each winning share out of the escrow, or each side's part of it; the rest belongs to the pool and
 * the house and returns to the treasury. The escrow always covers it: escrow = YES outstanding = NO outstanding.
 */
const settleNow: CommandKind<SettleMarket, Ended<Settled>> = {
  // The policy says which oracle may settle.
  needs: ({ marketId, oracle }) => [...endNeeds(marketId), ...(oracle ? [TENANT] : [])],
  ownBatch: true,
  decide(draft, command, now) {
    const { marketId, outcome, oracle, expect } = command;
    const ending = requireEnding(draft, marketId);
    if (oracle) requireOracleMaySettle(draft, { ...ending, oracle }, now);
    const sums = sumsOf(ending, outcome);
    requireExpected("Settling", sums, expect);
    end(draft, ending, { outcome, reason: null, sums }, now);
    draft.record("market.settled", {
      marketId,
      outcome: outcomeOnRecord(outcome),
      payouts: sums.payouts,
      paid: decimalFromMicro(sums.paidMicro),
      returned: decimalFromMicro(sums.treasuryMicro),
      houseResult: decimalFromMicro(sums.houseResultMicro),
      evidence: command.evidence,
    });
    if (oracle) draft.record("oracle.resolved", { ...oracle.evidence, marketId, outcome: outcomeOnRecord(outcome) });
    return { id: marketId, outcome, settledAt: now, ...sums };
  },
};

export const settleMarket = governed(settleNow, {
  kind: "settle",
  about: ({ marketId, outcome }) => ({ subject: marketSubject(marketId), marketId, outcome }),
  terms: termsOfMarket,
});

/**
 * Undoes a market: every open position gets back what it cost, its fees included. What sales won or lost stays, so the
 * escrow may lack money, which the treasury adds up to the stated amount.
 * @throws Fault MARKET_NOT_FOUND, MARKET_SETTLED, EXPECTATION_NOT_MET, TREASURY_INSUFFICIENT
 */
const voidNow: CommandKind<VoidMarket, Ended<"void">> = {
  needs: ({ marketId }) => refundNeeds(marketId),
  ownBatch: true,
  decide(draft, command, now) {
    const { marketId, reason, expect, maxTreasuryMicro } = command;
    const ending = requireEnding(draft, marketId);
    const sums = sumsOf(ending, "void");
    const { fromTreasuryMicro, toTreasuryMicro } = fromAndTo(sums.treasuryMicro);
    requireExpected("Voiding", sums, expect);
    requireTreasuryMayPay("Voiding", fromTreasuryMicro, maxTreasuryMicro);
    end(draft, ending, { outcome: "void", reason, sums }, now);
    draft.record("market.voided", {
      marketId,
      reason,
      payoutsProcessed: sums.payouts,
      refunded: decimalFromMicro(sums.paidMicro),
      fromFees: decimalFromMicro(sums.feesMicro),
      fromTreasury: decimalFromMicro(fromTreasuryMicro),
      toTreasury: decimalFromMicro(toTreasuryMicro),
      evidence: command.evidence,
    });
    return { id: marketId, outcome: "void", settledAt: now, ...sums };
  },
};

export const voidMarket = governed(voidNow, {
  kind: "void",
  about: ({ marketId, reason }) => ({ subject: marketSubject(marketId), marketId, outcome: "void", reason }),
  terms: termsOfMarket,
});

/** What the rules want before an end of the market or its correction: the strictest of tenant, category and market. */
export function termsOfMarket(rules: Rules, { marketId }: { marketId: string }, state: Reader): Terms {
  const { category, resolution } = requireMarket(state, marketId).market;
  return termsOfEnd(rules, { category, own: resolution });
}

/** @throws Fault MARKET_NOT_FOUND, MARKET_SETTLED */
function requireEnding(draft: Draft, marketId: string): Ending {
  const ending = requireKnown(draft, marketId);
  if (ending.marketState.status === "settled") throw new Fault("MARKET_SETTLED", "Market is already settled");
  return ending;
}

/** @throws Fault MARKET_NOT_FOUND */
export function requireKnown(state: Reader, marketId: string): Ending {
  requireMarket(state, marketId);
  const ending = endingOf(state, marketId);
  invariant(ending, "a market that is known can end");
  return ending;
}

/** Pays the positions, closes them, and settles the market. */
function end(
  draft: Draft,
  ending: Ending,
  { outcome, reason, sums }: { outcome: Outcome; reason: string | null; sums: EndSums },
  now: number,
): void {
  const { market, marketState } = ending;
  const { id: marketId } = market;
  const { treasuryMicro, escrowMicro } = sums;
  invariant(
    draft.account(escrowOf(marketId)).balanceMicro === escrowMicro,
    `the escrow of ${marketId} covers exactly the outstanding shares of a side`,
  );
  requireTreasuryHolds(draft, -treasuryMicro);
  for (const { debit, credit, amountMicro } of movesOfEnd(ending, outcome, sums))
    draft.transfer(debit, credit, amountMicro);
  for (const holder of ending.holders) closePosition(draft, holder);
  draft.put("marketState", marketId, { ...marketState, status: "settled", outcome, settledAt: now });
  endWatch(draft, marketId);
  if (outcome !== "yes" && outcome !== "no")
    draft.put("marketEnd", marketId, { ...endRow(ending, outcome, sums), reason, corrections: [], version: 0 });
}

/** Checked in the commit that pays, so that no trade can happen between the check and the payment. */
function requireExpected(what: string, sums: EndSums, { payouts, totalMicro }: Expected = {}): void {
  const expected = [
    ...(payouts === undefined || payouts === sums.payouts ? [] : [counted(payouts, "payout")]),
    ...(totalMicro === undefined || totalMicro === sums.paidMicro ? [] : [`${decimalFromMicro(totalMicro)} USD`]),
  ];
  if (expected.length === 0) return;
  throw new Fault(
    "EXPECTATION_NOT_MET",
    `${what} would make ${counted(sums.payouts, "payout")} of ${decimalFromMicro(sums.paidMicro)} USD in all, ` +
      `which is not the expected ${expected.join(" of ")}: nothing was paid`,
  );
}

/** The house loses more than a market's liquidity only where a person states how much. */
export function requireTreasuryMayPay(what: string, neededMicro: bigint, mostMicro: bigint | undefined): void {
  if (mostMicro === undefined || neededMicro <= mostMicro) return;
  const [value, limit] = [decimalFromMicro(neededMicro), decimalFromMicro(mostMicro)];
  throw new Fault(
    "EXPECTATION_NOT_MET",
    `${what} would take ${value} USD from the treasury, more than the stated ${limit} USD: nothing was paid`,
    { detail: { field: "maxTreasuryUsd", limit, value } },
  );
}

/** @throws Fault TREASURY_INSUFFICIENT */
export function requireTreasuryHolds(draft: Draft, neededMicro: bigint): void {
  const { balanceMicro } = draft.account(TREASURY);
  if (neededMicro <= balanceMicro) return;
  const [limit, value] = [decimalFromMicro(balanceMicro), decimalFromMicro(neededMicro)];
  throw new Fault("TREASURY_INSUFFICIENT", `The treasury must add $${value}, and holds $${limit}: nothing was paid`, {
    detail: { field: "treasury.capitalUsd", limit, value },
  });
}

/** The row stays as history. If the exposure is in memory, it drops by the position's cost. */
function closePosition(draft: Draft, { traderId, costMicro }: Owned): void {
  const portfolio = draft.get("portfolio", traderId);
  if (portfolio) draft.put("portfolio", traderId, portfolioAfter(portfolio, -costMicro));
}
