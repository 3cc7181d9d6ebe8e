import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { usd } from "../engine/world.ts";
import { expectRefusal } from "./support/requests.ts";
import { newPayment, nowSec, post, SECRET, signed } from "./support/stripe.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

const OLD_SECRET = "whsec_stripe_before_rotation_0123456";

let tenant: ServedTenant;
beforeAll(async () => {
  tenant = await serveTenant({ stripeSecrets: [SECRET, OLD_SECRET] });
});
afterEach(async () => {
  expect(await tenant.isSound()).toBe(true);
});
afterAll(() => tenant.close());

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

describe("a payment is credited once", () => {
  test("whichever event comes first, and however often", async () => {
    const first = newPayment(tenant);
    await first.intent();
    await first.session();
    await first.intent();
    expect(await first.wallet()).toBe(usd(50));
    const second = newPayment(tenant);
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

  test("never with more than was received", async () => {
    const sessionLast = newPayment(tenant);
    await sessionLast.intent({ metadata: {}, amount_received: 4000 });
    await sessionLast.session();
    const intentLast = newPayment(tenant);
    await intentLast.session();
    await intentLast.intent({ amount_received: 4000 });
    await intentLast.intent({ amount_received: 4000 });
    expect([await sessionLast.wallet(), await intentLast.wallet()]).toEqual([usd(40), usd(40)]);
  });

  test("one that names nobody is on record, and not used up", async () => {
    const payment = newPayment(tenant);
    await payment.intent({ metadata: null });
    await payment.intent({ metadata: { userId: "" } });
    expect(await payment.entries("payment.conflict")).toHaveLength(2);
    await payment.session();
    expect(await payment.wallet()).toBe(usd(50));
  });

  test("one that names another user later stays where it is", async () => {
    const payment = newPayment(tenant);
    await payment.intent();
    await payment.session({ client_reference_id: "somebody_else" });
    expect(await payment.wallet()).toBe(usd(50));
    expect(await tenant.balance("wallet:somebody_else")).toBe(0n);
    expect(await payment.entries("payment.conflict")).toMatchObject([{ problem: "credited to another user" }]);
  });
});
