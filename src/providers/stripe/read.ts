import { z } from "zod";
import { text, UserId } from "../../contract/scalars.ts";
import type { PaymentFact, RefundItem } from "../../engine/payments.ts";

/** A fact about one payment intent. */
interface StripeFact {
  reference: string;
  fact: PaymentFact;
}

const MICRO_PER_CENT = 10_000n;
/** A billion dollars, as for deposits. */
const MAX_CENTS = 100_000_000_000;

const Id = text(255);
/** A reference: the id, or the expanded object. */
const Reference = z.union([Id, z.object({ id: Id }).transform(({ id }) => id)]).nullish();
const Cents = z.number().int().min(0).max(MAX_CENTS);
const Metadata = z.record(z.string(), z.unknown()).nullish();

const Intent = z.object({
  id: Id,
  status: z.string(),
  amount_received: Cents,
  currency: z.string(),
  metadata: Metadata,
});
const StripeSession = z.object({
  payment_status: z.string(),
  payment_intent: Reference,
  amount_total: Cents.nullish(),
  currency: z.string().nullish(),
  client_reference_id: z.unknown().optional(),
  metadata: Metadata,
});
/** The common fields of refunds and disputes. */
const Reversal = z.object({ id: Id, amount: Cents, currency: z.string(), payment_intent: Reference });
const Refund = Reversal.extend({ status: z.string().nullish() });
const Dispute = Reversal.extend({ status: z.string() });
const Charge = z.object({
  payment_intent: Reference,
  amount_refunded: Cents,
  currency: z.string(),
  refunds: z.object({ data: z.array(Refund) }).nullish(),
});

/**
 * The money-related fact in a Stripe event; undefined if there is none: an unpaid checkout, a notice, a payment without
 * an intent. Amounts are integers of minor units, and only dollars are accepted.
 * @see https://docs.stripe.com/api/events/types
 */
export function readStripeEvent(type: string, object: unknown): StripeFact | undefined {
  if (type === "payment_intent.succeeded") return readIntent(object);
  if (type === "checkout.session.completed" || type === "checkout.session.async_payment_succeeded")
    return readSession(object);
  if (type === "charge.refunded") return readCharge(object);
  if (type.startsWith("refund.") || type.startsWith("charge.refund.")) return readRefund(object);
  if (type.startsWith("charge.dispute.")) return readDispute(object);
  return undefined;
}

function readIntent(object: unknown): StripeFact | undefined {
  const { data: intent } = Intent.safeParse(object);
  if (!intent) return unreadable(object, "id");
  if (intent.status !== "succeeded" || intent.amount_received === 0) return undefined;
  const traderId = userOf(intent.metadata?.userId);
  if (!isDollars(intent.currency)) return unusable(intent.id, "not in US dollars", traderId);
  return {
    reference: intent.id,
    fact: { kind: "paid", traderId, amountMicro: micro(intent.amount_received), received: true },
  };
}

function readSession(object: unknown): StripeFact | undefined {
  const { data: session } = StripeSession.safeParse(object);
  if (!session) return unreadable(object, "payment_intent");
  // "no_payment_required" has no intent; "unpaid" is followed by async_payment_succeeded or by nothing.
  if (session.payment_status !== "paid" || !session.payment_intent || !session.amount_total) return undefined;
  const traderId = userOf(session.metadata?.userId) ?? userOf(session.client_reference_id);
  if (!isDollars(session.currency)) return unusable(session.payment_intent, "not in US dollars", traderId);
  const amountMicro = micro(session.amount_total);
  return { reference: session.payment_intent, fact: { kind: "paid", traderId, amountMicro, received: false } };
}

function readCharge(object: unknown): StripeFact | undefined {
  const { data: charge } = Charge.safeParse(object);
  if (!charge) return unreadable(object, "payment_intent");
  if (!charge.payment_intent) return undefined;
  if (!isDollars(charge.currency)) return unusable(charge.payment_intent, "not in US dollars");
  const refunds = (charge.refunds?.data ?? []).flatMap(refundItem);
  const totalMicro = micro(charge.amount_refunded);
  return { reference: charge.payment_intent, fact: { kind: "refund", refunds, totalMicro } };
}

function readRefund(object: unknown): StripeFact | undefined {
  const { data: refund } = Refund.safeParse(object);
  if (!refund) return unreadable(object, "payment_intent");
  if (!refund.payment_intent) return undefined;
  if (!isDollars(refund.currency)) return unusable(refund.payment_intent, "not in US dollars");
  return { reference: refund.payment_intent, fact: { kind: "refund", refunds: refundItem(refund) } };
}

/** A pending refund counts too: the money has left the balance, and returns if the refund fails. */
function refundItem({ id, amount, status }: z.output<typeof Refund>): RefundItem[] {
  const failed = status === "failed" || status === "canceled";
  return amount === 0 ? [] : [{ id, amountMicro: micro(amount), failed }];
}

function readDispute(object: unknown): StripeFact | undefined {
  const { data: dispute } = Dispute.safeParse(object);
  if (!dispute) return unreadable(object, "payment_intent");
  // An inquiry ("warning_…") takes no money; if it becomes a dispute, another event says so.
  if (!dispute.payment_intent || dispute.amount === 0 || dispute.status.startsWith("warning")) return undefined;
  if (!isDollars(dispute.currency)) return unusable(dispute.payment_intent, "not in US dollars");
  const { id, amount, status } = dispute;
  return {
    reference: dispute.payment_intent,
    fact: { kind: "dispute", id, amountMicro: micro(amount), won: status === "won" },
  };
}

/**
 * An event that Stripe signed but that does not parse. It is recorded without moving money, so that Stripe does not
 * repeat it.
 */
function unreadable(object: unknown, field: string): StripeFact {
  const { data: reference } = Reference.safeParse((object as Record<string, unknown>)[field]);
  return unusable(reference ?? "", "not as Stripe documents it");
}

function unusable(reference: string, problem: string, traderId?: string): StripeFact {
  return { reference, fact: { kind: "unusable", problem, traderId } };
}

function userOf(value: unknown): string | undefined {
  return UserId.safeParse(value).data;
}

function isDollars(currency: string | null | undefined): boolean {
  return currency?.toLowerCase() === "usd";
}

function micro(cents: number): bigint {
  return BigInt(cents) * MICRO_PER_CENT;
}
