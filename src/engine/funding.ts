import { Fault, invariant } from "../domain/fault.ts";
import { decimalFromMicro } from "../domain/money.ts";
import type { CreditWallet, DecideWithdrawal, RequestWithdrawal, Results } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { externalOf, pendingOf, type Withdrawal, walletOf } from "./rows.ts";
import { ensureTrader } from "./traders.ts";

/** Takes the money out of the wallet at once, so that it cannot be spent twice while an operator decides. */
export function requestWithdrawal(
  draft: Draft,
  { id, traderId, amountMicro }: RequestWithdrawal,
  now: number,
): Results["requestWithdrawal"] {
  if (draft.get("trader", traderId)?.restricted) throw new Fault("ACCOUNT_RESTRICTED", "Account is restricted");
  draft.transfer(walletOf(traderId), pendingOf(traderId), amountMicro);
  const withdrawal: Withdrawal = {
    id,
    traderId,
    amountMicro,
    status: "pending",
    createdAt: now,
    decidedAt: null,
    version: 0,
  };
  draft.put("withdrawal", id, withdrawal);
  draft.record("withdrawal.requested", entryOf(withdrawal));
  return withdrawal;
}

/**
 * Sends the money out, or gives it back. The same decision again changes nothing, so that a lost answer can be retried.
 * @throws Fault WITHDRAWAL_DECIDED when it was decided the other way
 */
export function decideWithdrawal(
  draft: Draft,
  { id, traderId: owner, approve }: DecideWithdrawal,
  now: number,
): Results["decideWithdrawal"] {
  const withdrawal = draft.get("withdrawal", id);
  if (!withdrawal) throw new Fault("NOT_FOUND", "Withdrawal not found");
  const { traderId, amountMicro } = withdrawal;
  invariant(traderId === owner, "the accounts that were loaded are those of the withdrawal's owner");
  const status = approve ? "approved" : "rejected";
  if (withdrawal.status === status) return withdrawal;
  if (withdrawal.status !== "pending")
    throw new Fault("WITHDRAWAL_DECIDED", `Withdrawal is ${withdrawal.status} already`);
  draft.transfer(pendingOf(traderId), approve ? externalOf("withdrawals") : walletOf(traderId), amountMicro);
  const decided: Withdrawal = { ...withdrawal, status, decidedAt: now };
  draft.put("withdrawal", id, decided);
  draft.record(`withdrawal.${status}`, entryOf(decided));
  return decided;
}

function entryOf({ id, traderId, amountMicro }: Withdrawal) {
  return { withdrawalId: id, userId: traderId, amount: decimalFromMicro(amountMicro) };
}

/** Money from outside by an operator's hand; the entry names who and why. */
export function creditWallet(
  draft: Draft,
  { traderId, amountMicro }: CreditWallet,
  now: number,
): Results["creditWallet"] {
  ensureTrader(draft, traderId, now);
  draft.transfer(externalOf("operator"), walletOf(traderId), amountMicro);
  draft.record("wallet.credited", { userId: traderId, amount: decimalFromMicro(amountMicro), provider: "operator" });
  return { balanceMicro: draft.account(walletOf(traderId)).balanceMicro, ts: now };
}
