import type { Labels } from "./labels.ts";
import { COUNTRIES, type Random, USERS } from "./random.ts";
import type { Wish } from "./steps.ts";

/** Money in and out, and providers' webhooks about users and payments. */
export class MoneyWishes {
  readonly #random: Random;
  readonly #labels: Labels;
  /** Stripe payments that were announced. */
  readonly #paid = new Set<string>();
  #verified = 0;

  constructor(random: Random, labels: Labels) {
    this.#random = random;
    this.#labels = labels;
  }

  withdraw = (): Wish => ({
    do: "requestWithdrawal",
    as: this.#labels.next("w"),
    user: this.#random.pick(USERS),
    amount: this.#random.pick(["all", "half", "micro", "more", this.#random.dollars(0.01, 1000), 0.0000001] as const),
  });

  decide = (): Wish => ({
    do: this.#random.pick(["approveWithdrawal", "rejectWithdrawal"]),
    withdrawal: this.#labels.known("w"),
  });

  deposit(user: string = this.#random.pick(USERS), amountUsd = this.#random.dollars(0.01, 50_000)): Wish {
    const random = this.#random;
    const txRef = random.chance(0.2) ? this.#labels.known("tx") : this.#labels.next("tx");
    const change = random.chance(0.05)
      ? random.pick([{ amountUsd: 0.009 }, { amountUsd: -5 }, { event: "deposit.pending" }, { userId: 7 }])
      : {};
    // A reference always names the same amount, unless it conflicts on purpose.
    const fixed = Number(txRef.slice(2)) % 5 === 0 ? { amountUsd: 50, userId: USERS[0] } : {};
    return {
      do: "receivePayment",
      body: { event: "deposit.completed", userId: user, amountUsd, txRef, ...fixed, ...change },
    };
  }

  kyc(userId: string, status: string): Wish {
    const random = this.#random;
    this.#verified += random.integer(-1, 3);
    const verifiedAt = new Date(Date.UTC(2026, 0, 1) + this.#verified * 60_000).toISOString();
    const jurisdiction = random.chance(0.4) ? { jurisdiction: random.pick(COUNTRIES) } : {};
    return { do: "receiveKyc", body: { userId, status, provider: "idv", verifiedAt, ...jurisdiction } };
  }

  stripe(): Wish {
    const random = this.#random;
    const intent = random.chance(0.6) ? this.#labels.known("pi") : this.#labels.next("pi");
    const user = USERS[Number(intent.slice(2)) % USERS.length] as string;
    const cents = 5000 + Number(intent.slice(2));
    const refund = `re_${intent}_${random.integer(1, 2)}`;
    // Some are faster than their payment.
    const later = this.#paid.has(intent) ? 2 : 0.4;
    const kind = random.weighted({
      intent: 5,
      session: 3,
      refund: later,
      charge: later,
      dispute: later,
      nobody: 0.5,
      euro: 0.5,
    });
    if (kind === "intent") this.#paid.add(intent);
    const paid = {
      id: intent,
      status: "succeeded",
      amount: cents,
      amount_received: cents,
      currency: "usd",
      metadata: { userId: user },
    };
    const dispute = { id: `dp_${intent}`, amount: cents, currency: "usd", payment_intent: intent };
    const won = random.chance(0.4);
    const [type, object] = {
      intent: ["payment_intent.succeeded", random.chance(0.1) ? { ...paid, amount_received: cents - 100 } : paid],
      session: [
        "checkout.session.completed",
        {
          id: `cs_${intent}`,
          payment_status: random.pick(["paid", "paid", "unpaid"]),
          payment_intent: intent,
          amount_total: cents,
          currency: "usd",
          client_reference_id: user,
          metadata: {},
        },
      ],
      refund: [
        "refund.created",
        {
          id: refund,
          amount: 1000,
          currency: "usd",
          status: random.pick(["succeeded", "failed"]),
          payment_intent: intent,
        },
      ],
      charge: [
        "charge.refunded",
        {
          id: `ch_${intent}`,
          amount: cents,
          amount_refunded: random.pick([1000, 2000]),
          currency: "usd",
          payment_intent: intent,
        },
      ],
      dispute: [`charge.dispute.${won ? "closed" : "created"}`, { ...dispute, status: won ? "won" : "needs_response" }],
      nobody: ["payment_intent.succeeded", { ...paid, id: `pi_${this.#labels.next("i")}`, metadata: {} }],
      euro: ["payment_intent.succeeded", { ...paid, id: `pi_${this.#labels.next("i")}`, currency: "eur" }],
    }[kind] as [string, object];
    return {
      do: "receiveStripe",
      body: {
        id: `evt_${random.chance(0.1) ? intent : this.#labels.next("i")}`,
        object: "event",
        type,
        data: { object },
      },
    };
  }
}
