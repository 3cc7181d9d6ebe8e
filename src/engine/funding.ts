import { externalOf, pendingOf, receivableOf, WITHDRAWN, walletOf } from "../domain/accounts.ts";
import { Fault, invariant, throwRefusal } from "../domain/fault.ts";
import { decimalFromMicro, limitFromUsd } from "../domain/money.ts";
import type { MoneyRule, Terms } from "../domain/policy/approvals.ts";
import { policyAt } from "../domain/policy/policy.ts";
import { admitWithdrawal } from "./admission/admission.ts";
import { reject } from "./approvals/decisions.ts";
import { governed, waitingNeed, waitingProposal, withdrawalSubject } from "./approvals/proposals.ts";
import { type CommandKind, need, requireTenant, TENANT } from "./command.ts";
import type { Draft } from "./draft.ts";
import { referenceKey, type Withdrawal } from "./rows.ts";
import { ensureTrader } from "./traders.ts";
import { type ArrivedWebhook, needsOfWebhook, once } from "./webhooks/arrived.ts";

interface RecordDeposit {
  provider: string;
  traderId: string;
  amountMicro: bigint;
  reference: string;
  webhook?: ArrivedWebhook | undefined;
}

/**
 * Credits a deposit once per reference, for ever. The same reference with another amount or user credits nothing and is
 * recorded as a conflict.
 */
export const recordDeposit: CommandKind<RecordDeposit, undefined> = {
  needs: ({ provider, traderId, reference, webhook }) => [
    ...needsOfWebhook(webhook),
    need("receipt", referenceKey(provider, reference)),
    need("trader", traderId),
    need("account", walletOf(traderId)),
    need("account", receivableOf(traderId)),
    need("account", externalOf(provider)),
  ],
  decide(draft, command, now) {
    return once(draft, command.webhook, now, () => creditDeposit(draft, command, now));
  },
};

function creditDeposit(draft: Draft, command: RecordDeposit, now: number): undefined {
  const { provider, traderId, amountMicro, reference } = command;
  const key = referenceKey(provider, reference);
  const counted = draft.get("receipt", key);
  if (counted) {
    if (counted.amountMicro === amountMicro && counted.userId === traderId) return;
    draft.record("payment.conflict", {
      userId: traderId,
      txRef: reference,
      amount: decimalFromMicro(amountMicro),
      creditedUserId: counted.userId,
      creditedAmount: decimalFromMicro(counted.amountMicro),
    });
    return;
  }
  ensureTrader(draft, traderId, now);
  draft.put("receipt", key, { provider, reference, amountMicro, userId: traderId });
  creditUser(draft, { provider, userId: traderId, amountMicro, txRef: reference });
}

/** Takes the money out of the wallet at once, so that it cannot be spent while an operator decides. */
export const requestWithdrawal: CommandKind<{ id: string; traderId: string; amountMicro: bigint }, Withdrawal> = {
  needs: ({ traderId }) => [
    need("trader", traderId),
    need("account", walletOf(traderId)),
    need("account", pendingOf(traderId)),
  ],
  decide(draft, { id, traderId, amountMicro }, now) {
    admitWithdrawal(draft, traderId, amountMicro, throwRefusal);
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
  },
};

interface DecideWithdrawal {
  id: string;
  traderId: string;
  approve: boolean;
  /** Who decides; named by the rejection of a proposal to approve it. */
  by?: string | undefined;
  /** Whether the owner must be restricted; undefined for either. */
  expectRestricted?: boolean | undefined;
}

/**
 * Sends the money out, or gives it back. A repeated decision changes nothing, so that a caller can retry after a lost answer.
 * `traderId` is the withdrawal's owner, who never changes: the caller looks the owner up to name the accounts to load.
 * @throws Fault WITHDRAWAL_DECIDED if the opposite was decided before, EXPECTATION_NOT_MET
 */
const decideNow: CommandKind<DecideWithdrawal, Withdrawal> = {
  needs: ({ id, traderId, expectRestricted }) => [
    ...(expectRestricted === undefined ? [] : [need("trader", traderId)]),
    need("withdrawal", id),
    waitingNeed(withdrawalSubject(id)),
    need("account", walletOf(traderId)),
    need("account", pendingOf(traderId)),
    need("account", WITHDRAWN),
  ],
  decide(draft, { id, traderId: owner, approve, by, expectRestricted }, now) {
    const withdrawal = draft.get("withdrawal", id);
    if (!withdrawal) throw new Fault("NOT_FOUND", "Withdrawal not found");
    const { traderId, amountMicro } = withdrawal;
    invariant(traderId === owner, "the accounts that were loaded are those of the withdrawal's owner");
    const status = approve ? "approved" : "rejected";
    if (withdrawal.status === status) return withdrawal;
    if (withdrawal.status !== "pending")
      throw new Fault("WITHDRAWAL_DECIDED", `Withdrawal is ${withdrawal.status} already`);
    if (expectRestricted !== undefined) requireStanding(draft, traderId, expectRestricted);
    draft.transfer(pendingOf(traderId), approve ? WITHDRAWN : walletOf(traderId), amountMicro);
    const decided: Withdrawal = { ...withdrawal, status, decidedAt: now };
    draft.put("withdrawal", id, decided);
    draft.record(`withdrawal.${status}`, entryOf(decided));
    const waiting = approve ? undefined : waitingProposal(draft, withdrawalSubject(id));
    if (waiting) reject(draft, waiting, { by: by ?? waiting.proposedBy, reason: "The withdrawal was rejected" }, now);
    return decided;
  },
};

/** Checked in the commit that pays, so that no restriction can come between what a person saw and the payment. */
function requireStanding(draft: Draft, traderId: string, limit: boolean): void {
  const value = draft.get("trader", traderId)?.restricted ?? false;
  if (value === limit) return;
  const standing = value ? "restricted, which was not expected" : "not restricted, as was expected";
  throw new Fault("EXPECTATION_NOT_MET", `The user is ${standing}: nothing was paid`, {
    detail: { field: "expectRestricted", limit, value },
  });
}

export const decideWithdrawal = governed(decideNow, {
  kind: "withdraw",
  about: ({ id, approve }) => (approve ? { subject: withdrawalSubject(id) } : undefined),
  terms: ({ approvals }, { id }, state) => {
    const withdrawal = state.get("withdrawal", id);
    // A repeated decision changes nothing, so it needs no agreement.
    return withdrawal?.status === "pending" ? termsAbove(approvals.withdraw, withdrawal.amountMicro) : undefined;
  },
});

/** What a rule about money wants for an amount; undefined up to its limit. */
export function termsAbove(rule: MoneyRule | undefined, amountMicro: bigint): Terms | undefined {
  if (!rule || amountMicro <= limitFromUsd(rule.aboveUsd)) return undefined;
  return { holdHours: 0, approvals: rule.approvals };
}

function entryOf({ id, traderId, amountMicro }: Withdrawal) {
  return { withdrawalId: id, userId: traderId, amount: decimalFromMicro(amountMicro) };
}

interface ManualMove {
  /** Distinguishes its entry from that of an equal move through another server at the same instant. */
  id: string;
  traderId: string;
  amountMicro: bigint;
}
type Balance = { balanceMicro: bigint; ts: number };

const needsOfManualMove = ({ traderId }: ManualMove) => [
  TENANT,
  need("trader", traderId),
  need("account", walletOf(traderId)),
  need("account", externalOf("operator")),
];

interface CreditByHand extends ManualMove {
  reason?: string | undefined;
  /** What the wallet must hold before; undefined for any balance. */
  expectedMicro?: bigint | undefined;
}

/**
 * Credits money that an operator received outside pmctl. The entry names the operator and the reason.
 * @throws Fault MAX_CREDIT_EXCEEDED, EXPECTATION_NOT_MET
 */
const creditNow: CommandKind<CreditByHand, Balance> = {
  needs: needsOfManualMove,
  decide(draft, command, now) {
    const { maxCreditUsd } = policyAt(requireTenant(draft), now);
    if (command.amountMicro > limitFromUsd(maxCreditUsd))
      throw new Fault("MAX_CREDIT_EXCEEDED", `A credit is at most ${maxCreditUsd} USD (policy.maxCreditUsd)`, {
        detail: { field: "policy.maxCreditUsd", limit: maxCreditUsd, value: decimalFromMicro(command.amountMicro) },
      });
    requireBalance(draft, command);
    return creditByOperator(draft, command, now);
  },
};

/** Checked in the commit that credits, so that no payment can happen between the check and the credit. */
function requireBalance(draft: Draft, { traderId, expectedMicro }: CreditByHand): void {
  const { balanceMicro } = draft.account(walletOf(traderId));
  if (expectedMicro === undefined || expectedMicro === balanceMicro) return;
  const [value, limit] = [decimalFromMicro(balanceMicro), decimalFromMicro(expectedMicro)];
  throw new Fault(
    "EXPECTATION_NOT_MET",
    `The wallet holds ${value} USD, which is not the expected ${limit} USD: nothing was credited`,
    { detail: { field: "expectBalanceUsd", limit, value } },
  );
}

export const creditWallet = governed(creditNow, {
  kind: "credit",
  about: ({ id, reason }) => ({ subject: `credit:${id}`, reason }),
  terms: ({ approvals }, { amountMicro }) => termsAbove(approvals.credit, amountMicro),
});

/** The credit without the policy's limit, as replaying the log repeats it. */
export function creditByOperator(draft: Draft, { id, traderId, amountMicro }: ManualMove, now: number): Balance {
  ensureTrader(draft, traderId, now);
  draft.transfer(externalOf("operator"), walletOf(traderId), amountMicro);
  const amount = decimalFromMicro(amountMicro);
  draft.record("wallet.credited", { creditId: id, userId: traderId, amount, provider: "operator" });
  return { balanceMicro: draft.account(walletOf(traderId)).balanceMicro, ts: now };
}

/**
 * Takes back money that an operator credited by mistake: at most the wallet's balance, so that no user gets into debt.
 * @throws Fault NOT_FOUND for an unknown user, INSUFFICIENT_FUNDS
 */
export const debitWallet: CommandKind<ManualMove, Balance> = {
  needs: needsOfManualMove,
  decide(draft, { id, traderId, amountMicro }, now) {
    if (!draft.get("trader", traderId)) throw new Fault("NOT_FOUND", "User not found");
    draft.transfer(walletOf(traderId), externalOf("operator"), amountMicro);
    const amount = decimalFromMicro(amountMicro);
    draft.record("wallet.debited", { debitId: id, userId: traderId, amount, receivable: "0", provider: "operator" });
    return { balanceMicro: draft.account(walletOf(traderId)).balanceMicro, ts: now };
  },
};

interface Credit {
  provider: string;
  userId: string;
  amountMicro: bigint;
  /** The provider's reference for the payment. */
  txRef: string;
  /** The cause, unless it is a plain deposit. */
  cause?: string;
}

/** Credits a provider's money to a user: first to the user's debt, the rest to the wallet. */
export function creditUser(draft: Draft, { provider, userId, amountMicro, txRef, cause }: Credit): void {
  const owedMicro = -draft.account(receivableOf(userId)).balanceMicro;
  const settledMicro = owedMicro <= 0n ? 0n : owedMicro < amountMicro ? owedMicro : amountMicro;
  draft.transfer(externalOf(provider), receivableOf(userId), settledMicro);
  draft.transfer(externalOf(provider), walletOf(userId), amountMicro - settledMicro);
  draft.record("wallet.credited", {
    userId,
    amount: decimalFromMicro(amountMicro),
    receivable: settledMicro > 0n || cause !== undefined ? decimalFromMicro(settledMicro) : undefined,
    txRef,
    provider,
    cause,
  });
}
