import type { Input, Result } from "../../contract/operations.ts";
import { escrowOf } from "../../domain/accounts.ts";
import { Fault } from "../../domain/fault.ts";
import { endOf, fromAndTo } from "../../domain/market/ends.ts";
import { pricesOf, statusAt } from "../../domain/market/market.ts";
import { rulesOf } from "../../domain/policy/approvals.ts";
import { marketNeeds, need, requireMarket, requireTenant, TENANT } from "../../engine/command.ts";
import type { Agreed, Command } from "../../engine/commands.ts";
import type { Reader } from "../../engine/draft.ts";
import { correctableUntil, requireCorrectable } from "../../engine/ends/correction.ts";
import { correctionOf } from "../../engine/ends/ending.ts";
import { refundNeeds, requireKnown, termsOfMarket } from "../../engine/ends/settlement.ts";
import { sumHolderFees } from "../../ledger/load.ts";
import { sumPayments } from "../../queries/markets/payments.ts";
import type { ServiceContext } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";
import { prepared, submitGoverned } from "../proposals/governed.ts";
import { readState } from "../read-state.ts";

/** How markets end: settlements, voids and corrections, with their previews. */
export function endHandlers(context: ServiceContext) {
  return {
    previewSettlement: (input) => previewSettlement(context, input),
    settleMarket: (input, caller) => submitGoverned(context, "settleMarket", input, preparedSettlement(input), caller),
    // The entries of the next two have the reason that traders read.
    voidMarket: (input, caller) =>
      submitGoverned(context, "voidMarket", input, preparedVoid(input), withoutReason(caller)),
    previewCorrection: (input) => previewCorrection(context, input),
    correctMarket: (input, caller) => {
      // A proposal is executed after other changes of the wallets, which its approvers see.
      const { expectReceivablesUsd: _, ...request } = input;
      return submitGoverned(context, "correctMarket", request, preparedCorrection(input), withoutReason(caller));
    },
  } satisfies Handlers;
}

const withoutReason = (caller: Caller): Caller => ({ ...caller, reason: undefined });

export const preparedSettlement = (input: Input<"settleMarket">) =>
  prepared<"settleMarket", Command<"settleMarket">>({ command: settlementCommand(input), answer: settlementView });
export const preparedVoid = (input: Input<"voidMarket">) =>
  prepared<"voidMarket", Command<"voidMarket">>({ command: voidCommand(input), answer: voidView });
export const preparedCorrection = (input: Input<"correctMarket">) =>
  prepared<"correctMarket", Command<"correctMarket">>({ command: correctionCommand(input), answer: correctionView });

/** The engine's command for a manual settlement. */
export function settlementCommand(input: Input<"settleMarket">): Command<"settleMarket"> {
  const { marketId, outcome } = input;
  return { type: "settleMarket", marketId, outcome, evidence: input.evidence, expect: expectedBy(input) };
}

function voidCommand(input: Input<"voidMarket">): Command<"voidMarket"> {
  const { id: marketId, reason, maxTreasuryUsd: maxTreasuryMicro = 0n } = input;
  return {
    type: "voidMarket",
    marketId,
    reason,
    evidence: input.evidence,
    expect: expectedBy(input),
    maxTreasuryMicro,
  };
}

function correctionCommand(input: Input<"correctMarket">): Command<"correctMarket"> {
  const { id: marketId, outcome, reason, evidence, expectOutcome } = input;
  const { expectReceivablesUsd: expectReceivablesMicro, maxTreasuryUsd: maxTreasuryMicro } = input;
  const expected = { expectOutcome, expectReceivablesMicro, maxTreasuryMicro };
  return { type: "correctMarket", marketId, outcome, reason, evidence, ...expected };
}

const expectedBy = ({
  expectPayouts,
  expectTotalUsd,
}: Pick<Input<"voidMarket">, "expectPayouts" | "expectTotalUsd">) => ({
  payouts: expectPayouts,
  totalMicro: expectTotalUsd,
});

/** The answer to a settlement. */
export function settlementView({ id, outcome, settledAt, payouts }: Agreed<"settleMarket">): Result<"settleMarket"> {
  return { id, status: "settled", outcome, settledAt, payoutsProcessed: payouts };
}

function voidView({ id, settledAt, payouts, ...sums }: Agreed<"voidMarket">): Result<"voidMarket"> {
  return {
    ...{ id, status: "settled", outcome: "void", settledAt, payoutsProcessed: payouts },
    ...{ refundedUsd: sums.paidMicro, fromFeesUsd: sums.feesMicro, ...treasuryView(sums) },
  };
}

function correctionView({ id, from, outcome, correctedAt, ...sums }: Agreed<"correctMarket">): Result<"correctMarket"> {
  return { id, status: "settled", from, outcome, correctedAt, ...correctionSums(sums) };
}

function correctionSums(sums: Omit<ReturnType<typeof correctionOf>, "moves">) {
  const { users, takenBackMicro, receivablesMicro, paidMicro, feesMicro } = sums;
  return {
    ...{ users, takenBackUsd: takenBackMicro, receivablesUsd: receivablesMicro, paidUsd: paidMicro },
    ...{ feesUsd: feesMicro, ...treasuryView(sums) },
  };
}

function treasuryView({ treasuryMicro }: { treasuryMicro: bigint }) {
  const { fromTreasuryMicro, toTreasuryMicro } = fromAndTo(treasuryMicro);
  return { fromTreasuryUsd: fromTreasuryMicro, toTreasuryUsd: toTreasuryMicro };
}

/** From the positions, as the settlement pays each of them; only what a void gives back of fees is in the trades. */
async function previewSettlement(
  context: ServiceContext,
  { id, outcome }: Input<"previewSettlement">,
): Promise<Result<"previewSettlement">> {
  const needs = [...marketNeeds(id), need("account", escrowOf(id)), TENANT];
  const { state, now, more } = await readState(context, needs, (sql) =>
    Promise.all([sumPayments(sql, id, outcome), outcome === "void" ? sumHolderFees(sql, id) : 0n]),
  );
  const { market, marketState } = requireMarket(state, id);
  if (marketState.status === "settled") throw new Fault("MARKET_SETTLED", "Market is already settled");
  const [{ largest, costMicro, ...payments }, feesMicro] = more;
  const { balanceMicro: escrowMicro = 0n } = state.get("account", escrowOf(id)) ?? {};
  const sums = endOf({ ...payments, feesMicro }, { escrowMicro, fundMicro: market.fundMicro });
  const { question, closeAt, resolutionRef } = market;
  return {
    marketId: id,
    question,
    status: statusAt({ status: marketState.status, closeAt }, now),
    closeAt,
    resolutionRef,
    outcome,
    price: outcome === "yes" || outcome === "no" ? pricesOf(market, marketState)[outcome] : null,
    payouts: sums.payouts,
    escrowUsd: sums.escrowMicro,
    totalUsd: sums.paidMicro,
    costUsd: costMicro,
    fromFeesUsd: sums.feesMicro,
    ...treasuryView(sums),
    houseResultUsd: sums.houseResultMicro,
    terms: termsShown(state, id),
    largest: largest && { userId: largest.traderId, amountUsd: BigInt(largest.paid) },
  };
}

/** What the rules in force want before the market's end or its correction. */
function termsShown(state: Reader, marketId: string): Result<"previewSettlement">["terms"] {
  const rules = rulesOf(requireTenant(state));
  return { ...termsOfMarket(rules, { marketId }, state), correctionHours: rules.resolution.correctionHours };
}

/** Computed as the correction computes it. */
async function previewCorrection(
  context: ServiceContext,
  { id, outcome: to }: Input<"previewCorrection">,
): Promise<Result<"previewCorrection">> {
  const needs = [...refundNeeds(id), TENANT, need("holderDebts", id)];
  const { state, now } = await readState(context, needs);
  const ending = requireKnown(state, id);
  const terms = termsShown(state, id);
  const { correctionHours } = terms;
  const from = requireCorrectable(ending.marketState, { to, correctionHours }, now);
  const balanceOf = (account: string) => state.get("account", account)?.balanceMicro ?? 0n;
  const sums = correctionOf(ending, { from, to }, balanceOf);
  const until = correctableUntil(ending.marketState.settledAt ?? now, correctionHours);
  return { marketId: id, from, to, ...correctionSums(sums), terms, until };
}
