import { createHmac } from "node:crypto";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { usd } from "../engine/world.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { expectRefusal } from "./support/requests.ts";
import { newPayment, nowSec, post, SECRET, signed } from "./support/stripe.ts";

const OLD_SECRET = "whsec_stripe_before_rotation_0123456";

const tenant = tenantOfTests({ stripeSecrets: [SECRET, OLD_SECRET] });
afterEach(async () => {
  expect(await tenant.isSound()).toBe(true);
});

describe("Stripe's signature", () => {
  const payload = '{"id":"evt_x","type":"customer.created","data":{"object":{}}}';

  test("may be under any active secret, and up to five minutes off either way", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    for (const header of [
      signed(payload),
      signed(payload, { secret: OLD_SECRET }),
      signed(payload, { timestamp: nowSec() - 300 }),
      signed(payload, { timestamp: nowSec() + 300 }),
    ])
      expect((await post(tenant.url, payload, header)).status).toBe(200);
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
    await expectRefusal(
      await post(tenant.url, payload, header(nowSec())),
      401,
      "SIGNATURE_INVALID",
      "Invalid signature",
    );
  });

  test("for another tenant is 401", async () => {
    await expectRefusal(await post(tenant.url, payload, signed(payload), "other"), 401, "SIGNATURE_INVALID");
  });

  test("does not make a body valid, whatever bytes it consists of, and nothing is kept of them", async () => {
    const kept = async () => (await tenant.backend.sql`select count(*)::int as rows from inbound_delivery`)[0];
    const before = [await kept(), (await tenant.audit()).length];
    for (const body of ["", "x", "1", "\ufeff{}", "[".repeat(30_000), "\xff\xfe", '{"id":"\xe9"}']) {
      const bytes = Buffer.from(body, body.includes("\ufeff") ? "utf8" : "latin1");
      const at = nowSec();
      const v1 = createHmac("sha256", OLD_SECRET).update(`${at}.`).update(bytes).digest("hex");
      await expectRefusal(await post(tenant.url, bytes, `t=${at},v1=${"0".repeat(64)},v1=${v1}`), 400, "BAD_REQUEST");
      for (const header of [`t=${at},v1=${"0".repeat(64)}`, `t=${at - 360},v1=${v1}`, `t=${at},v0=${v1}`])
        await expectRefusal(await post(tenant.url, bytes, header), 401, "SIGNATURE_INVALID");
    }
    expect([await kept(), (await tenant.audit()).length]).toEqual(before);
  });

  test("does not make a body an event", async () => {
    for (const body of ["{", "[]", "{}", '{"id":"evt_1","type":"x"}'])
      await expectRefusal(await post(tenant.url, body, signed(body)), 400, "BAD_REQUEST");
  });
});

/*
 * What the events of a payment, its refunds and its disputes come to, in any order and for any wallet, is what the model says
 * (test/model/model-stripe.ts); here stands what its scenarios do not send.
 */
describe("a payment is credited once", () => {
  test("when all events arrive at once", async () => {
    const payment = newPayment(tenant);
    await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? payment.intent() : payment.session())));
    expect(await payment.wallet()).toBe(usd(50));
    expect(await payment.entries("wallet.credited")).toHaveLength(1);
  });

  test("only when it is paid", async () => {
    const payment = newPayment(tenant);
    await payment.session({ payment_status: "unpaid" });
    await payment.session({ payment_status: "no_payment_required", payment_intent: null });
    await payment.intent({ status: "processing" });
    expect(await payment.wallet()).toBe(0n);
    await payment.session({}, "checkout.session.async_payment_succeeded");
    expect(await payment.wallet()).toBe(usd(50));
  });

  test("only in dollars, and what is not is on record", async () => {
    const payment = newPayment(tenant);
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
});

describe("a refund is taken back once", () => {
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
});
