import Stripe from "stripe";
import { expect } from "vitest";
import type { ServedTenant } from "./tenant.ts";

export const SECRET = "whsec_stripe-of-the-tests-0123456789";

export const nowSec = () => Math.floor(Date.now() / 1000);

export function signed(payload: string, { secret = SECRET, timestamp = nowSec() } = {}): string {
  return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
}

/** Posts a payload as Stripe does, with its signature header or without. */
export function post(
  url: string,
  payload: string | Buffer,
  header: string | undefined,
  path = "acme",
): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    ...(header === undefined ? {} : { "stripe-signature": header }),
  };
  return fetch(`${url}/payments/stripe/${path}`, { method: "POST", headers, body: payload });
}

let events = 0;
async function deliver(tenant: ServedTenant, type: string, object: object): Promise<void> {
  events += 1;
  const payload = JSON.stringify({ id: `evt_${events}`, object: "event", type, data: { object } });
  const response = await post(tenant.url, payload, signed(payload));
  expect([response.status, await response.json()]).toEqual([200, { received: true }]);
}

let payments = 0;
/** A payment that no other test knows, and its events. */
export function newPayment(tenant: ServedTenant, cents = 5000) {
  const send = (type: string, object: object) => deliver(tenant, type, object);
  payments += 1;
  const [id, user] = [`pi_${payments}`, `buyer_${payments}`];
  return {
    id,
    user,
    wallet: () => tenant.balance(`wallet:${user}`),
    intent: (change: object = {}) =>
      send("payment_intent.succeeded", {
        id,
        object: "payment_intent",
        status: "succeeded",
        amount: cents,
        amount_received: cents,
        currency: "usd",
        metadata: { userId: user },
        ...change,
      }),
    session: (change: object = {}, type = "checkout.session.completed") =>
      send(type, {
        id: `cs_${id}`,
        object: "checkout.session",
        payment_status: "paid",
        payment_intent: id,
        amount_total: cents,
        currency: "usd",
        client_reference_id: user,
        metadata: {},
        ...change,
      }),
    refund: (refundId: string, amount: number, status = "succeeded", type = "refund.created") =>
      send(type, { id: refundId, object: "refund", amount, currency: "usd", status, payment_intent: id }),
    charge: (amountRefunded: number, change: object = {}) =>
      send("charge.refunded", {
        id: `ch_${id}`,
        object: "charge",
        payment_intent: id,
        amount: cents,
        amount_refunded: amountRefunded,
        currency: "usd",
        ...change,
      }),
    dispute: (type: string, status: string, amount = cents) =>
      send(`charge.dispute.${type}`, { id: `dp_${id}`, amount, currency: "usd", status, payment_intent: id }),
    entries: async (...types: string[]) =>
      (await tenant.audit(...types)).filter(({ payload }) => payload.txRef === id).map(({ payload }) => payload),
  };
}
