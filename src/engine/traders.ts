import { canonicalJson } from "../domain/audit/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { policyAt } from "../domain/policy.ts";
import { capMinor, isPassed, traderStateOf } from "../domain/trader.ts";
import type { RecordDeposit, RecordKyc, RestrictUser, Results, SubmitSuitability } from "./commands.ts";
import { creditUser } from "./credit.ts";
import { once } from "./deliveries.ts";
import type { Draft } from "./draft.ts";
import { requireTenant } from "./markets.ts";
import { receiptKey, type Trader } from "./rows.ts";

/** Users exist from the first time that a token, a webhook or an operator names them. */
export function newTrader(id: string, now: number): Trader {
  return {
    id,
    kyc: "unverified",
    restricted: false,
    jurisdiction: null,
    kycAt: null,
    suitabilityScore: null,
    suitabilityAt: null,
    createdAt: now,
    version: 0,
  };
}

/** Makes the user exist, as whatever names it first does. */
export function ensureTrader(draft: Draft, id: string, now: number): void {
  if (!draft.get("trader", id)) draft.put("trader", id, newTrader(id, now));
}

/** How far a provider's clock may be ahead of the database's. */
const MAX_VERIFIED_AHEAD_MS = 5 * 60_000;

/**
 * A later result overrides an earlier one by `verifiedAt`, whatever the order of arrival; other statuses are ignored.
 * @throws Fault BAD_REQUEST for one of the future, which would outlast every later result until then
 */
export function recordKyc(draft: Draft, command: RecordKyc, now: number): undefined {
  if (command.verifiedAt > now + MAX_VERIFIED_AHEAD_MS)
    throw new Fault("BAD_REQUEST", "verifiedAt: must not be in the future");
  return once(draft, command.delivery, now, () => applyKyc(draft, command, now));
}

function applyKyc(draft: Draft, command: RecordKyc, now: number): undefined {
  const { traderId, status, provider, verifiedAt, jurisdiction } = command;
  const trader = draft.get("trader", traderId) ?? newTrader(traderId, now);
  if (status !== "passed" && status !== "failed") return;
  // Older versions took instants of the future: such a one says nothing of when the result was found.
  const isKnown = trader.kycAt !== null && trader.kycAt <= now + MAX_VERIFIED_AHEAD_MS;
  if (isKnown && verifiedAt <= Number(trader.kycAt)) return;
  draft.put("trader", traderId, {
    ...trader,
    kyc: status === "passed" ? "verified" : "rejected",
    kycAt: verifiedAt,
    jurisdiction: jurisdiction ?? trader.jurisdiction,
  });
  draft.record("kyc.updated", {
    userId: traderId,
    status,
    provider,
    verifiedAt: new Date(verifiedAt).toISOString(),
    jurisdiction,
  });
}

/** Credits once per reference for ever. The same reference with another amount or user credits nothing and is recorded. */
export function recordDeposit(draft: Draft, command: RecordDeposit, now: number): undefined {
  return once(draft, command.delivery, now, () => creditDeposit(draft, command, now));
}

function creditDeposit(draft: Draft, command: RecordDeposit, now: number): undefined {
  const { provider, traderId, amountMicro, reference } = command;
  const key = receiptKey(provider, reference);
  const receipt = draft.get("receipt", key);
  if (receipt) {
    if (receipt.amountMicro === amountMicro && receipt.userId === traderId) return;
    draft.record("payment.conflict", {
      userId: traderId,
      txRef: reference,
      amount: decimalFromMicro(amountMicro),
      creditedUserId: receipt.userId,
      creditedAmount: decimalFromMicro(receipt.amountMicro),
    });
    return;
  }
  ensureTrader(draft, traderId, now);
  draft.put("receipt", key, { provider, reference, amountMicro, userId: traderId });
  creditUser(draft, { provider, userId: traderId, amountMicro, txRef: reference });
}

/** Every assessment is kept and the last one counts, under the thresholds in force at each trade (decision 21). */
export function submitSuitability(
  draft: Draft,
  { id, traderId, answers }: SubmitSuitability,
  now: number,
): Results["submitSuitability"] {
  const { suitabilityThresholds: thresholds } = policyAt(requireTenant(draft), now);
  const trader = draft.get("trader", traderId) ?? newTrader(traderId, now);
  const score = Object.values(answers).reduce((sum, each) => sum + each, 0);
  const passed = isPassed(score, thresholds);
  draft.put("trader", traderId, { ...trader, suitabilityScore: score, suitabilityAt: now });
  draft.put("assessment", id, { id, traderId, answers: canonicalJson(answers), score, submittedAt: now });
  draft.record("suitability.submitted", {
    userId: traderId,
    assessmentId: id,
    answers,
    score,
    passed,
    submittedAt: new Date(now).toISOString(),
  });
  return { score, exposureCapMinor: capMinor(score, thresholds), passed };
}

/** A restriction stops trading and withdrawing; a release brings back what was beneath it. Either twice changes nothing. */
export function restrictUser(
  draft: Draft,
  { traderId, restricted }: RestrictUser,
  now: number,
): Results["restrictUser"] {
  const known = draft.get("trader", traderId);
  // An operator may stop somebody who has yet to arrive; there is nothing to release then.
  if (!known && !restricted) throw new Fault("NOT_FOUND", "User not found");
  const trader = { ...(known ?? newTrader(traderId, now)), restricted };
  const state = traderStateOf(trader);
  if (known?.restricted !== restricted) {
    draft.put("trader", traderId, trader);
    draft.record("user.restricted", { userId: traderId, restricted, state });
  }
  return { state };
}
