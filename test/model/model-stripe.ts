import { credited, isRepeated, moved } from "./model-funding.ts";
import { decimal, larger, smaller, sum } from "./model-numbers.ts";
import { type ExpectedEntry, type Outcome, type Payment, type Request, type State, userOf } from "./model-state.ts";

const CENT = 10_000n;

/** The fields of Stripe's objects that the scenario sends. */
interface StripeObject {
  id: string;
  currency: string;
  status?: string;
  payment_status?: string;
  payment_intent?: string;
  amount?: number;
  amount_total?: number;
  amount_received?: number;
  amount_refunded?: number;
  client_reference_id?: string;
  metadata?: { userId?: string };
}

/**
 * Whatever is signed is answered with 200. Each event adds a fact to its payment, and the wallet is moved to what the
 * facts come to: credited once, and refunds and disputes taken back, never more than was credited.
 */
export function judgeStripe(state: State, { body, bytes = "", actor, during }: Request): Outcome[] {
  const type = String(body.type);
  const { object } = body.data as { object: StripeObject };
  const commit = (): ExpectedEntry[] => {
    if (isRepeated(state, `stripe ${bytes}`)) return [];
    const reference = type === "payment_intent.succeeded" ? object.id : (object.payment_intent ?? "");
    if (object.currency !== "usd") return [conflict(reference, actor)];
    state.payments[reference] ??= newPayment();
    const payment = state.payments[reference];
    const user = object.metadata?.userId ?? object.client_reference_id;
    if (type === "payment_intent.succeeded")
      return paid(
        state,
        payment,
        { reference, user, amount: cents(object.amount_received), received: true },
        actor,
        during,
      );
    if (type === "checkout.session.completed") {
      if (object.payment_status !== "paid") return [];
      return paid(
        state,
        payment,
        { reference, user, amount: cents(object.amount_total), received: false },
        actor,
        during,
      );
    }
    if (!note(payment, type, object)) return [];
    const entries = settle(state, payment, reference, actor);
    // What is new and moves nothing, such as a refund before its payment, is on record all the same.
    return entries.length > 0 ? entries : [conflict(reference, actor)];
  };
  return [{ answer: { received: true }, commit }];
}

const cents = (amount = 0): bigint => BigInt(amount) * CENT;

const newPayment = (): Payment => ({
  user: null,
  credited: 0n,
  received: null,
  refunds: {},
  refundTotal: 0n,
  refundsFailed: {},
  disputes: {},
  disputesWon: {},
  takenBack: 0n,
});

const conflict = (txRef: string, actor: string): ExpectedEntry => ({
  type: "payment.conflict",
  actor,
  payload: { txRef },
});

interface Paid {
  reference: string;
  user: string | undefined;
  amount: bigint;
  /** Whether the amount is what was received, and not what was asked for. */
  received: boolean;
}

function paid(
  state: State,
  payment: Payment,
  { reference, user, amount, received }: Paid,
  actor: string,
  during: Request["during"],
): ExpectedEntry[] {
  if (payment.user !== null) return paidAgain(state, payment, { reference, user, amount, received }, actor);
  if (received) payment.received = amount;
  if (user === undefined) return [conflict(reference, actor)];
  payment.user = user;
  payment.credited = payment.received === null ? amount : smaller(amount, payment.received);
  state.flows.push({ provider: "stripe", amount: payment.credited });
  const reached = credited(userOf(state, user, during), payment.credited);
  const about = { reference };
  const entry = moved(state, { type: "wallet.credited", user, amount: reached, named: payment.credited, about }, actor);
  return [entry, ...settle(state, payment, reference, actor)];
}

/** A further event about a payment that was credited can only correct it downwards. */
function paidAgain(
  state: State,
  payment: Payment,
  { reference, user, amount, received }: Paid,
  actor: string,
): ExpectedEntry[] {
  const known = payment.received ?? payment.credited;
  if (user !== undefined && user !== payment.user) return [conflict(reference, actor)];
  if (received && amount < known) {
    payment.received = amount;
    const entries = settle(state, payment, reference, actor);
    return entries.length > 0 ? entries : [conflict(reference, actor)];
  }
  return (received ? amount > known : amount < known) ? [conflict(reference, actor)] : [];
}

/** Adds a fact to what is known; whether it says anything new. */
function note(payment: Payment, type: string, { id, status, amount, amount_refunded }: StripeObject): boolean {
  if (type.startsWith("charge.dispute.")) {
    const won = status === "won" && add(payment.disputesWon, id, cents(amount));
    return add(payment.disputes, id, cents(amount)) || won;
  }
  const before = refundedOf(payment);
  if (type === "charge.refunded") payment.refundTotal = larger(payment.refundTotal, cents(amount_refunded));
  else add(payment.refunds, id, cents(amount));
  const failed = status === "failed" && add(payment.refundsFailed, id, cents(amount));
  return failed || refundedOf(payment) !== before;
}

function add(facts: Record<string, bigint>, id: string, amount: bigint): boolean {
  const isNew = facts[id] === undefined;
  facts[id] ??= amount;
  return isNew;
}

const totalOf = (items: Record<string, bigint>) => sum(Object.values(items));

/** Refunds come by their ids and as a running total; the larger of the two counts. */
const refundedOf = ({ refunds, refundTotal, refundsFailed }: Payment): bigint =>
  larger(0n, larger(totalOf(refunds), refundTotal) - totalOf(refundsFailed));

/** What the facts say is to be taken back in all, which is never more than was credited. */
function takenBackOf(payment: Payment): bigint {
  const { credited: all, received, disputes, disputesWon } = payment;
  const kept = received === null ? all : smaller(all, received);
  return all - kept + smaller(kept, refundedOf(payment) + totalOf(disputes) - totalOf(disputesWon));
}

/** Moves the difference between what is to be taken back and what was: out of the wallet first, the rest is owed. */
function settle(state: State, payment: Payment, reference: string, actor: string): ExpectedEntry[] {
  const due = takenBackOf(payment) - payment.takenBack;
  const user = payment.user === null ? undefined : state.users[payment.user];
  if (!user || payment.user === null || due === 0n) return [];
  payment.takenBack += due;
  state.flows.push({ provider: "stripe", amount: -due });
  const about = { reference };
  if (due < 0n) {
    const reached = credited(user, -due);
    return [moved(state, { type: "wallet.credited", user: payment.user, amount: reached, named: -due, about }, actor)];
  }
  const fromWallet = smaller(due, user.balance);
  user.balance -= fromWallet;
  user.owed += due - fromWallet;
  const extra = { receivable: decimal(due - fromWallet) };
  return [
    moved(state, { type: "wallet.debited", user: payment.user, amount: -fromWallet, named: due, about, extra }, actor),
  ];
}
