import { createHmac } from "node:crypto";
import Stripe from "stripe";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { usd } from "../engine/world.ts";
import { expectRefusal } from "./support/requests.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

const SECRET = "whsec_stripe_of_the_tests_0123456789";
const OLD_SECRET = "whsec_stripe_before_rotation_0123456";

let tenant: ServedTenant;
beforeAll(async () => {
  tenant = await serveTenant({ stripeSecrets: [SECRET, OLD_SECRET] });
});
afterEach(async () => {
  expect(await tenant.isSound()).toBe(true);
});
afterAll(() => tenant.close());

const nowSec = () => Math.floor(Date.now() / 1000);

function signed(payload: string, { secret = SECRET, timestamp = nowSec() } = {}): string {
  return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
}

function post(payload: string, header: string | undefined, path = "acme"): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    ...(header === undefined ? {} : { "stripe-signature": header }),
  };
  return fetch(`${tenant.url}/payments/stripe/${path}`, { method: "POST", headers, body: payload });
}

let events = 0;
async function send(type: string, object: object): Promise<void> {
  events += 1;
  const payload = JSON.stringify({ id: `evt_${events}`, object: "event", type, data: { object } });
  const response = await post(payload, signed(payload));
  expect([response.status, await response.json()]).toEqual([200, { received: true }]);
}

let payments = 0;
/** A payment that no other test knows, and its events. */
function newPayment(cents = 5000) {
  payments += 1;
  const [id, user] = [`pi_${payments}`, `buyer_${payments}`];
  return {
    id,
    user,
    wallet: () => tenant.balance(`wallet:${user}`),
    owed: async () => -(await tenant.balance(`receivable:${user}`)),
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

describe("Stripe's signature", () => {
  const payload = '{"id":"evt_x","type":"customer.created","data":{"object":{}}}';

  test("may be under any active secret, and up to five minutes off either way", async () => {
    for (const header of [
      signed(payload),
      signed(payload, { secret: OLD_SECRET }),
      signed(payload, { timestamp: nowSec() - 290 }),
      signed(payload, { timestamp: nowSec() + 290 }),
    ])
      expect((await post(payload, header)).status).toBe(200);
  });

  test.each<[string, (at: number) => string | undefined]>([
    ["missing", () => undefined],
    ["empty", () => ""],
    ["of another body", () => signed(`${payload} `)],
    ["under another secret", () => signed(payload, { secret: "whsec_guess" })],
    ["six minutes old", (at) => signed(payload, { timestamp: at - 360 })],
    ["from six minutes ahead", (at) => signed(payload, { timestamp: at + 360 })],
    ["of two times", (at) => `t=${at - 1000},${signed(payload)}`],
    ["of a later time behind a true one", (at) => `${signed(payload)},t=${at + 9}`],
    ["without a time", () => signed(payload).replace(/t=\d+,/, "")],
    ["the generic scheme's", () => createHmac("sha256", SECRET).update(payload).digest("hex")],
  ])("that is %s is 401", async (_name, header) => {
    await expectRefusal(await post(payload, header(nowSec())), 401, "SIGNATURE_INVALID", "Invalid signature");
  });

  test("for another tenant is 401", async () => {
    await expectRefusal(await post(payload, signed(payload), "other"), 401, "SIGNATURE_INVALID");
  });

  test("does not make a body valid", async () => {
    for (const body of ["{", "[]", "{}", '{"id":"evt_1","type":"x"}'])
      await expectRefusal(await post(body, signed(body)), 400, "BAD_REQUEST");
  });
});

describe("a payment is credited once", () => {
  test("whichever event comes first, and however often", async () => {
    const first = newPayment();
    await first.intent();
    await first.session();
    await first.intent();
    expect(await first.wallet()).toBe(usd(50));
    const second = newPayment();
    await second.session();
    await second.session({}, "checkout.session.async_payment_succeeded");
    await second.intent();
    expect(await second.wallet()).toBe(usd(50));
    for (const payment of [first, second]) {
      expect(await payment.entries("wallet.credited", "payment.conflict")).toEqual([
        { userId: payment.user, amount: "50", txRef: payment.id, provider: "stripe" },
      ]);
    }
    const [entry] = (await tenant.audit("wallet.credited")).slice(-1);
    expect(entry?.actor).toBe("provider:stripe");
  });

  test("when all events arrive at once", async () => {
    const payment = newPayment();
    await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? payment.intent() : payment.session())));
    expect(await payment.wallet()).toBe(usd(50));
    expect(await payment.entries("wallet.credited")).toHaveLength(1);
  });

  test("only when it is paid", async () => {
    const payment = newPayment();
    await payment.session({ payment_status: "unpaid" });
    await payment.session({ payment_status: "no_payment_required", payment_intent: null });
    await payment.intent({ status: "processing" });
    expect(await payment.wallet()).toBe(0n);
    await payment.session({}, "checkout.session.async_payment_succeeded");
    expect(await payment.wallet()).toBe(usd(50));
  });

  test("only in dollars, and what is not is on record", async () => {
    const payment = newPayment();
    await payment.intent({ currency: "eur" });
    await payment.session({ currency: "jpy" });
    await payment.intent({ amount_received: 12.5 });
    expect(await payment.wallet()).toBe(0n);
    expect((await payment.entries("payment.conflict")).map(({ problem }) => problem)).toEqual([
      "not in US dollars",
      "not in US dollars",
      "not as Stripe documents it",
    ]);
    await payment.intent();
    expect(await payment.wallet()).toBe(usd(50));
  });

  test("never with more than was received", async () => {
    const sessionLast = newPayment();
    await sessionLast.intent({ metadata: {}, amount_received: 4000 });
    await sessionLast.session();
    const intentLast = newPayment();
    await intentLast.session();
    await intentLast.intent({ amount_received: 4000 });
    await intentLast.intent({ amount_received: 4000 });
    expect([await sessionLast.wallet(), await intentLast.wallet()]).toEqual([usd(40), usd(40)]);
  });

  test("one that names nobody is on record, and not used up", async () => {
    const payment = newPayment();
    await payment.intent({ metadata: null });
    await payment.intent({ metadata: { userId: "" } });
    expect(await payment.entries("payment.conflict")).toHaveLength(2);
    await payment.session();
    expect(await payment.wallet()).toBe(usd(50));
  });

  test("one that names another user later stays where it is", async () => {
    const payment = newPayment();
    await payment.intent();
    await payment.session({ client_reference_id: "somebody_else" });
    expect(await payment.wallet()).toBe(usd(50));
    expect(await tenant.balance("wallet:somebody_else")).toBe(0n);
    expect(await payment.entries("payment.conflict")).toMatchObject([{ problem: "credited to another user" }]);
  });
});

describe("a refund is taken back once", () => {
  test.each([
    ["by its own events alone", ["refund", "refund"]],
    ["by the charge alone", ["charge", "charge"]],
    ["by its own event, then the charge", ["refund", "charge"]],
    ["by the charge, then its own event", ["charge", "refund"]],
  ])("%s", async (_name, order) => {
    const payment = newPayment();
    await payment.intent();
    for (const kind of order)
      await (kind === "refund" ? payment.refund(`re_${payment.id}`, 2000) : payment.charge(2000));
    expect(await payment.wallet()).toBe(usd(30));
    expect(await payment.entries("wallet.debited", "payment.conflict")).toEqual([
      {
        userId: payment.user,
        amount: "20",
        receivable: "0",
        txRef: payment.id,
        provider: "stripe",
        cause: "refund",
      },
    ]);
  });

  test("several of them add up, in any order and at once", async () => {
    const payment = newPayment();
    await payment.intent();
    const list = { data: [{ id: "re_a", amount: 1000, currency: "usd", status: "succeeded" }] };
    await Promise.all([
      payment.charge(3000),
      payment.refund("re_b", 2000),
      payment.refund("re_a", 1000),
      payment.charge(1000, { refunds: list }),
      payment.refund("re_a", 1000, "succeeded", "refund.updated"),
    ]);
    expect(await payment.wallet()).toBe(usd(20));
    await payment.refund("re_c", 2000, "pending");
    await payment.charge(5000);
    expect(await payment.wallet()).toBe(0n);
  });

  test("one that fails is given back", async () => {
    const payment = newPayment();
    await payment.intent();
    const id = `re_${payment.id}`;
    await payment.refund(id, 2000, "pending");
    await payment.charge(2000);
    await payment.refund(id, 2000, "failed", "refund.failed");
    await payment.refund(id, 2000, "failed", "charge.refund.updated");
    expect(await payment.wallet()).toBe(usd(50));
  });

  test("one that comes before its payment takes its part of the credit", async () => {
    const payment = newPayment();
    await payment.refund(`re_${payment.id}`, 2000);
    await payment.charge(2000);
    expect(await payment.wallet()).toBe(0n);
    await payment.session();
    expect(await payment.wallet()).toBe(usd(30));
  });

  test("together with the payment, in parallel, it still comes out right", async () => {
    const payment = newPayment();
    await Promise.all([
      payment.refund(`re_${payment.id}`, 2000),
      payment.intent(),
      payment.charge(2000),
      payment.session(),
    ]);
    expect(await payment.wallet()).toBe(usd(30));
  });

  test("never more than was credited", async () => {
    const payment = newPayment();
    await payment.intent();
    await payment.charge(5000);
    await payment.dispute("created", "needs_response");
    expect([await payment.wallet(), await payment.owed()]).toEqual([0n, 0n]);
  });

  test("from a wallet that no longer holds it, the rest is owed", async () => {
    const payment = newPayment();
    await payment.intent();
    await tenant.openMarket(`spent_${payment.id}`);
    await tenant.services.sequencer.submit({
      command: {
        type: "placeTrade",
        id: `trd_${payment.id}`,
        marketId: `spent_${payment.id}`,
        traderId: payment.user,
        side: "yes",
        amountMicro: usd(35),
        claimedJurisdiction: undefined,
      },
      actor: `user:${payment.user}`,
    });
    await payment.charge(4000);
    expect([await payment.wallet(), await payment.owed()]).toEqual([0n, usd(25)]);
    expect(await payment.entries("wallet.debited")).toMatchObject([{ amount: "40", receivable: "25" }]);
  });
});

describe("a dispute", () => {
  test("takes the money when it is opened, and gives it back once when it is won", async () => {
    const payment = newPayment();
    await payment.intent();
    await payment.dispute("created", "needs_response", 3000);
    await payment.dispute("funds_withdrawn", "needs_response", 3000);
    expect(await payment.wallet()).toBe(usd(20));
    await payment.dispute("closed", "won", 3000);
    await payment.dispute("funds_reinstated", "won", 3000);
    expect(await payment.wallet()).toBe(usd(50));
    expect((await payment.entries("wallet.debited", "wallet.credited")).map(({ cause }) => cause)).toEqual([
      undefined,
      "dispute",
      "dispute won",
    ]);
  });

  test("that is lost, or only an inquiry, changes nothing more", async () => {
    const payment = newPayment();
    await payment.intent();
    await payment.dispute("created", "warning_needs_response", 3000);
    expect(await payment.wallet()).toBe(usd(50));
    await payment.dispute("updated", "needs_response", 3000);
    await payment.dispute("closed", "lost", 3000);
    expect(await payment.wallet()).toBe(usd(20));
  });

  test("won before it was heard of comes to nothing", async () => {
    const payment = newPayment();
    await payment.intent();
    await payment.dispute("closed", "won");
    await payment.dispute("created", "needs_response");
    expect(await payment.wallet()).toBe(usd(50));
  });
});
