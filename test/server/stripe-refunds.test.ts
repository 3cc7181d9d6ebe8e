import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { usd } from "../engine/world.ts";
import { newPayment, SECRET } from "./support/stripe.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

let tenant: ServedTenant;
beforeAll(async () => {
  tenant = await serveTenant({ stripeSecrets: [SECRET] });
});
afterEach(async () => {
  expect(await tenant.isSound()).toBe(true);
});
afterAll(() => tenant.close());

describe("a refund is taken back once", () => {
  test.each([
    ["by its own events alone", ["refund", "refund"]],
    ["by the charge alone", ["charge", "charge"]],
    ["by its own event, then the charge", ["refund", "charge"]],
    ["by the charge, then its own event", ["charge", "refund"]],
  ])("%s", async (_name, order) => {
    const payment = newPayment(tenant);
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
    const payment = newPayment(tenant);
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

  test("those that the charge's total covers are remembered, so that a further one is not taken for one of them", async () => {
    const payment = newPayment(tenant);
    await payment.intent();
    await payment.charge(3000);
    await payment.refund(`re_${payment.id}_a`, 1000);
    await payment.refund(`re_${payment.id}_b`, 2000);
    expect(await payment.wallet()).toBe(usd(20));
    await payment.refund(`re_${payment.id}_c`, 1500);
    expect(await payment.wallet()).toBe(usd(5));
  });

  test("one that fails is given back", async () => {
    const payment = newPayment(tenant);
    await payment.intent();
    const id = `re_${payment.id}`;
    await payment.refund(id, 2000, "pending");
    await payment.charge(2000);
    await payment.refund(id, 2000, "failed", "refund.failed");
    await payment.refund(id, 2000, "failed", "charge.refund.updated");
    expect(await payment.wallet()).toBe(usd(50));
  });

  test("one that comes before its payment takes its part of the credit", async () => {
    const payment = newPayment(tenant);
    await payment.refund(`re_${payment.id}`, 2000);
    await payment.charge(2000);
    expect(await payment.wallet()).toBe(0n);
    await payment.session();
    expect(await payment.wallet()).toBe(usd(30));
  });

  test("the statement shows both under their own entries, and pages between them", async () => {
    const payment = newPayment(tenant);
    await payment.refund(`re_${payment.id}`, 2000);
    await payment.intent();
    const api = localApi(tenant.services.handlers, { actor: "user", user: { id: payment.user } });
    const { items } = await api.listStatement({});
    expect(items.map(({ type, amount, balance }) => [type, amount, balance])).toEqual([
      ["wallet.debited", -20, 30],
      ["wallet.credited", 50, 50],
    ]);
    const first = await api.listStatement({ limit: 1 });
    const rest = await api.listStatement({ limit: 1, cursor: first.nextCursor ?? "" });
    expect([...first.items, ...rest.items]).toEqual(items);
  });

  test("two lines of one entry keep their order and are paged apart", async () => {
    const payment = newPayment(tenant);
    await payment.refund(`re_${payment.id}`, 2000);
    await payment.intent();
    await tenant.backend.sql`
      update transfer t
         set seq = t.seq - 1
       where t.debit = ${`wallet:${payment.user}`}`;
    const api = localApi(tenant.services.handlers, { actor: "user", user: { id: payment.user } });
    const { items } = await api.listStatement({});
    expect(items.map(({ amount, balance }) => [amount, balance])).toEqual([
      [-20, 30],
      [50, 50],
    ]);
    const first = await api.listStatement({ limit: 1 });
    const rest = await api.listStatement({ limit: 1, cursor: first.nextCursor ?? "" });
    expect([...first.items, ...rest.items]).toEqual(items);
  });

  test("together with the payment, in parallel, it still comes out right", async () => {
    const payment = newPayment(tenant);
    await Promise.all([
      payment.refund(`re_${payment.id}`, 2000),
      payment.intent(),
      payment.charge(2000),
      payment.session(),
    ]);
    expect(await payment.wallet()).toBe(usd(30));
  });

  test("never more than was credited", async () => {
    const payment = newPayment(tenant);
    await payment.intent();
    await payment.charge(5000);
    await payment.dispute("created", "needs_response");
    expect([await payment.wallet(), await payment.owed()]).toEqual([0n, 0n]);
  });

  test("from a wallet that no longer holds it, the rest is owed", async () => {
    const payment = newPayment(tenant);
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

    // What comes in later pays it back first, whoever brings it.
    await tenant.deposit(payment.user, 10);
    expect([await payment.wallet(), await payment.owed()]).toEqual([0n, usd(15)]);
    const later = newPayment(tenant);
    await later.intent({ metadata: { userId: payment.user } });
    expect([await payment.wallet(), await payment.owed()]).toEqual([usd(35), 0n]);
    const credits = (await tenant.audit("wallet.credited")).filter((entry) => entry.payload.userId === payment.user);
    expect(credits.map(({ payload }) => [payload.amount, payload.receivable])).toEqual([
      ["50", undefined],
      ["10", "10"],
      ["50", "15"],
    ]);
  });
});

describe("a dispute", () => {
  test("takes the money when it is opened, and gives it back once when it is won", async () => {
    const payment = newPayment(tenant);
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
    const payment = newPayment(tenant);
    await payment.intent();
    await payment.dispute("created", "warning_needs_response", 3000);
    expect(await payment.wallet()).toBe(usd(50));
    await payment.dispute("updated", "needs_response", 3000);
    await payment.dispute("closed", "lost", 3000);
    expect(await payment.wallet()).toBe(usd(20));
  });

  test("won before it was heard of comes to nothing", async () => {
    const payment = newPayment(tenant);
    await payment.intent();
    await payment.dispute("closed", "won");
    await payment.dispute("created", "needs_response");
    expect(await payment.wallet()).toBe(usd(50));
  });
});
