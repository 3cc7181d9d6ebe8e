import { externalOf, receivableOf, walletOf } from "../domain/accounts.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { type CommandKind, need } from "./command.ts";
import type { Draft } from "./draft.ts";
import { creditUser } from "./funding.ts";
import { type Payment, referenceKey } from "./rows.ts";
import { ensureTrader } from "./traders.ts";
import { type ArrivedWebhook, needsOfWebhook, once } from "./webhooks/arrived.ts";

/** The content of one event from a payment provider. Amounts are micro-dollars. */
export type PaymentFact =
  | {
      kind: "paid";
      traderId: string | undefined;
      amountMicro: bigint;
      /** Whether the amount was received; otherwise it was only requested. */
      received: boolean;
    }
  /** `totalMicro`: the sum of all refunds so far, if the event states it. */
  | { kind: "refund"; refunds: RefundItem[]; totalMicro?: bigint }
  | { kind: "dispute"; id: string; amountMicro: bigint; won: boolean }
  /** Signed by the provider, but in a form that moves no money. */
  | { kind: "unusable"; problem: string; traderId: string | undefined };

export interface RefundItem {
  id: string;
  amountMicro: bigint;
  failed: boolean;
}

/** An event about a payment from a provider that also refunds and disputes. */
interface RecordPayment {
  provider: string;
  /** The payment's reference (a payment intent), which is the same in all its events. */
  reference: string;
  /** The payment's owner, found by the caller: that user's rows are loaded. */
  ownerId: string | undefined;
  fact: PaymentFact;
  webhook?: ArrivedWebhook | undefined;
}

const failedRefund = (id: string) => `${id} failed`;
const wonDispute = (id: string) => `${id} won`;

/**
 * Applies an event to its payment, whatever the order of events: it adds the event's fact to the payment's row, and
 * moves the difference between the row's total and the amount moved so far.
 * @returns the payment's owner. If it is not the command's `ownerId`, nothing was done, and the caller repeats the
 * command with this owner.
 */
export const recordPayment: CommandKind<RecordPayment, { ownerId: string | undefined }> = {
  needs: ({ provider, reference, ownerId, fact, webhook }) => {
    const users = [ownerId, fact.kind === "paid" ? fact.traderId : undefined].filter((user) => user !== undefined);
    return [
      ...needsOfWebhook(webhook),
      need("payment", referenceKey(provider, reference)),
      need("account", externalOf(provider)),
      ...referencesOf(fact).map((id) => need("receipt", referenceKey(provider, id))),
      ...users.flatMap((user) => [
        need("trader", user),
        need("account", walletOf(user)),
        need("account", receivableOf(user)),
      ]),
    ];
  },
  decide(draft, command, now) {
    const { provider, reference, ownerId, fact } = command;
    const payment = draft.get("payment", referenceKey(provider, reference)) ?? newPayment(provider, reference);
    const owner = payment.userId === "" ? undefined : payment.userId;
    // If the caller did not know the owner, the owner's rows are not loaded and would read as empty accounts.
    if (owner !== ownerId) return { ownerId: owner };
    once(draft, command.webhook, now, () => recordFact(draft, payment, fact, now));
    return { ownerId };
  },
};

/** The references under which the event's refunds or dispute, and their ends, are each counted once. */
function referencesOf(fact: PaymentFact): string[] {
  if (fact.kind === "refund") return fact.refunds.flatMap(({ id }) => [id, failedRefund(id)]);
  return fact.kind === "dispute" ? [fact.id, wonDispute(fact.id)] : [];
}

function recordFact(draft: Draft, payment: Payment, fact: PaymentFact, now: number): undefined {
  switch (fact.kind) {
    case "paid":
      return recordPaid(draft, payment, fact, now);
    case "refund":
      return recordRefunds(draft, payment, fact);
    case "dispute":
      return recordDispute(draft, payment, fact);
    case "unusable":
      return recordConflict(draft, payment, fact.problem, { userId: fact.traderId });
  }
}

function newPayment(provider: string, reference: string): Payment {
  return {
    provider,
    reference,
    userId: "",
    creditedMicro: 0n,
    receivedMicro: null,
    refundsMicro: 0n,
    refundTotalMicro: 0n,
    refundsFailedMicro: 0n,
    disputedMicro: 0n,
    disputesWonMicro: 0n,
    takenBackMicro: 0n,
    version: 0,
  };
}

function recordPaid(draft: Draft, payment: Payment, fact: PaymentFact & { kind: "paid" }, now: number): undefined {
  const { traderId, amountMicro, received } = fact;
  const receivedMicro = received ? amountMicro : payment.receivedMicro;
  const asked = { userId: traderId, amount: decimalFromMicro(amountMicro) };
  if (payment.userId !== "") recordPaidAgain(draft, payment, fact);
  else if (traderId === undefined) {
    // A later event of the same payment may name the user, who then gets at most the received amount.
    if (received) put(draft, { ...payment, receivedMicro });
    recordConflict(draft, payment, "names no user", asked);
  } else {
    const creditedMicro = receivedMicro === null ? amountMicro : smaller(amountMicro, receivedMicro);
    ensureTrader(draft, traderId, now);
    const { provider, reference: txRef } = payment;
    creditUser(draft, { provider, userId: traderId, amountMicro: creditedMicro, txRef });
    // Refunds and disputes that arrived before the payment are subtracted at once.
    takeBackRest(draft, { ...payment, userId: traderId, creditedMicro, receivedMicro }, "refund");
  }
}

/** Applies a further event about a credited payment, which can only reduce the amount. */
function recordPaidAgain(draft: Draft, payment: Payment, fact: PaymentFact & { kind: "paid" }): void {
  const { traderId, amountMicro, received } = fact;
  const asked = { userId: traderId, amount: decimalFromMicro(amountMicro) };
  const knownMicro = payment.receivedMicro ?? payment.creditedMicro;
  if (traderId !== undefined && traderId !== payment.userId)
    recordConflict(draft, payment, "credited to another user", asked);
  else if (received && amountMicro < knownMicro)
    takeBackRest(draft, { ...payment, receivedMicro: amountMicro }, "received less");
  else if (received ? amountMicro > knownMicro : amountMicro < knownMicro)
    recordConflict(draft, payment, "credited with another amount", asked);
}

/** Counts refunds by id and by running total, so that either event may come first and the money is taken back once. */
function recordRefunds(draft: Draft, payment: Payment, fact: PaymentFact & { kind: "refund" }): undefined {
  const { provider } = payment;
  const isNew = (id: string) => !draft.get("receipt", referenceKey(provider, id));
  const counted = fact.refunds.filter(({ id }) => isNew(id));
  const failed = fact.refunds.filter((refund) => refund.failed && isNew(failedRefund(refund.id)));
  const next: Payment = {
    ...payment,
    refundsMicro: payment.refundsMicro + sum(counted),
    refundTotalMicro: larger(payment.refundTotalMicro, fact.totalMicro ?? 0n),
    refundsFailedMicro: payment.refundsFailedMicro + sum(failed),
  };
  if (counted.length + failed.length === 0 && next.refundTotalMicro === payment.refundTotalMicro) return;
  for (const { id, amountMicro } of counted) keepReference(draft, payment, id, amountMicro);
  for (const { id, amountMicro } of failed) keepReference(draft, payment, failedRefund(id), amountMicro);
  // The usual second event about a refund: ids covered by the running total, or a total equal to the ids. It moves
  // nothing but is stored; otherwise a later refund would be taken for one that the total covers.
  if (failed.length === 0 && refundedMicro(next) === refundedMicro(payment)) put(draft, next);
  else takeBackRest(draft, next, "refund");
}

function recordDispute(draft: Draft, payment: Payment, fact: PaymentFact & { kind: "dispute" }): undefined {
  const { id, amountMicro, won } = fact;
  const opened = keepReference(draft, payment, id, amountMicro);
  const ended = won && keepReference(draft, payment, wonDispute(id), amountMicro);
  if (!opened && !ended) return;
  const disputedMicro = payment.disputedMicro + (opened ? amountMicro : 0n);
  const disputesWonMicro = payment.disputesWonMicro + (ended ? amountMicro : 0n);
  takeBackRest(draft, { ...payment, disputedMicro, disputesWonMicro }, ended ? "dispute won" : "dispute");
}

function refundedMicro({ refundsMicro, refundTotalMicro, refundsFailedMicro }: Payment): bigint {
  return larger(0n, larger(refundsMicro, refundTotalMicro) - refundsFailedMicro);
}

const sum = (refunds: RefundItem[]): bigint => refunds.reduce((total, { amountMicro }) => total + amountMicro, 0n);

/** @returns whether the reference was not counted before */
function keepReference(draft: Draft, { provider, userId }: Payment, reference: string, amountMicro: bigint): boolean {
  const key = referenceKey(provider, reference);
  if (draft.get("receipt", key)) return false;
  draft.put("receipt", key, { provider, reference, amountMicro, userId });
  return true;
}

/** Moves the difference between the total to take back (at most the credited amount) and the amount taken back so far. */
function takeBackRest(draft: Draft, payment: Payment, reason: string): void {
  const { userId, creditedMicro, receivedMicro, takenBackMicro } = payment;
  const keptMicro = receivedMicro === null ? creditedMicro : smaller(creditedMicro, receivedMicro);
  // A provider may report a won dispute with more than its opening amount; the excess gives the user no money.
  const lostMicro = larger(0n, refundedMicro(payment) + payment.disputedMicro - payment.disputesWonMicro);
  const dueMicro = creditedMicro - keptMicro + smaller(keptMicro, lostMicro);
  put(draft, { ...payment, takenBackMicro: dueMicro });
  if (dueMicro > takenBackMicro) debit(draft, payment, dueMicro - takenBackMicro, reason);
  else if (dueMicro < takenBackMicro) {
    const { provider, reference: txRef } = payment;
    creditUser(draft, { provider, userId, amountMicro: takenBackMicro - dueMicro, txRef, cause: reason });
  } else if (draft.audit.length === 0)
    recordConflict(draft, payment, userId === "" ? `${reason} before the payment` : `${reason} counted before`, {});
}

/** Takes the amount from the wallet as far as it reaches; the user owes the rest. */
export function debit(
  draft: Draft,
  { provider, reference, userId }: Pick<Payment, "provider" | "reference" | "userId">,
  amountMicro: bigint,
  reason: string,
): void {
  const fromWalletMicro = smaller(amountMicro, draft.account(walletOf(userId)).balanceMicro);
  draft.transfer(walletOf(userId), externalOf(provider), fromWalletMicro);
  draft.transfer(receivableOf(userId), externalOf(provider), amountMicro - fromWalletMicro);
  draft.record("wallet.debited", {
    userId,
    amount: decimalFromMicro(amountMicro),
    receivable: decimalFromMicro(amountMicro - fromWalletMicro),
    txRef: reference,
    provider,
    cause: reason,
  });
}

function recordConflict(
  draft: Draft,
  { provider, reference, userId, creditedMicro }: Payment,
  problem: string,
  asked: { userId?: string | undefined; amount?: string },
): undefined {
  draft.record("payment.conflict", {
    provider,
    txRef: reference,
    problem,
    ...asked,
    ...(userId === "" ? {} : { creditedUserId: userId, creditedAmount: decimalFromMicro(creditedMicro) }),
  });
}

function put(draft: Draft, payment: Payment): void {
  draft.put("payment", referenceKey(payment.provider, payment.reference), payment);
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
