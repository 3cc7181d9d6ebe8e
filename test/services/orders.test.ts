import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

// What trades, orders, quotes and the hedge book come to is the model's (`test/model`), in two processes too.

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant({ policy: { maxTradeUsd: 1000 } });
  for (const user of ["ann", "bob"]) await tenant.deposit(user, 5000);
});
afterAll(() => tenant.close());

test("another user's order is answered like an unknown one, and a tag is stored in upper case", async () => {
  const [marketId, hedgeRef] = [
    await tenant.market(),
    { symbol: "btc-perp", direction: "long", notional: 250_000, externalRef: "pos_1" } as const,
  ];
  const { orderId: id } = await tenant
    .api("bob")
    .placeOrder({ marketId, selection: { outcome: 1 }, amount: 5, hedgeRef });
  expect(await tenant.api("bob").getOrder({ id })).toMatchObject({ hedgeRef: { ...hedgeRef, symbol: "BTC-PERP" } });
  await expect(tenant.api("ann").getOrder({ id })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: "Order not found",
  });
});

test.each([
  ["shares in a purchase", { selection: { side: "yes" }, amount: 1, shares: 1 }, "shares: does not go with a purchase"],
  ["a sale by amount", { selection: { side: "yes", action: "sell" }, amount: 1 }, "shares: is required"],
  [
    "a bound of the other kind",
    { selection: { side: "yes", action: "sell" }, shares: 1, maxAvgPrice: 0.5 },
    "maxAvgPrice: does not go with a sale",
  ],
  ["neither", { selection: { side: "yes" } }, "amount: is required"],
  [
    "a tag of a sale",
    {
      selection: { side: "yes", action: "sell" },
      shares: 1,
      hedgeRef: { symbol: "btc", direction: "long", notional: 1, externalRef: "r" },
    },
    "hedgeRef: does not go with a sale",
  ],
])("%s is refused, naming the field", async (_name, body, message) => {
  await expect(tenant.api("bob").placeTrade({ marketId: "m", ...body } as never)).rejects.toMatchObject({
    code: "BAD_REQUEST",
    message,
  });
});

test("a limit that a purchase of this size would break does not prevent a sale", async () => {
  const marketId = await tenant.market();
  const api = tenant.api("bob");
  const { shares } = await api.placeTrade({ marketId, selection: { side: "yes" }, amount: 500 });
  await tenant.api().updatePolicy({ maxTradeUsd: 1, maxUserExposureUsd: 1 });
  const sold = await api.placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares });
  expect(sold.amount).toBeGreaterThan(400);
  await tenant.api().updatePolicy({ maxTradeUsd: 1000, maxUserExposureUsd: 10_000 });
});

test.each(["cpmm", "lmsr"] as const)(
  "a quote is the trade that follows, to the micro, and stores nothing: %s",
  async (kind) => {
    const marketId = await tenant.market({ kind, p0: 0.37 });
    const api = tenant.api("ann");
    const head = () => tenant.sql`select seq, hash from head`;
    for (const order of [
      { marketId, selection: { side: "yes" as const }, amount: 33.333333 },
      { marketId, selection: { side: "yes" as const, action: "sell" as const }, shares: 12.345678 },
    ]) {
      const before = await head();
      const [quote, anonymous] = [await api.quoteTrade(order), await tenant.api().quoteTrade(order)];
      expect(await head()).toEqual(before);
      const trade = await api.placeTrade(order);
      for (const { ts, yesPriceBefore, priceImpact, ...same } of [quote, anonymous]) expect(trade).toMatchObject(same);
    }
  },
);

test("a quote knows the market's refusals without a user, and the user's own with one", async () => {
  const marketId = await tenant.market();
  const order = { marketId, selection: { side: "yes" as const }, amount: 400 };
  const refusal = (userId?: string, change = {}) =>
    tenant
      .api(userId)
      .quoteTrade({ ...order, ...change })
      .then(
        () => "quoted",
        ({ code }) => code,
      );
  expect(await refusal()).toBe("quoted");
  expect(await refusal("poor")).toBe("INSUFFICIENT_FUNDS");
  expect(await refusal(undefined, { amount: 1001 })).toBe("MAX_TRADE_EXCEEDED");
  expect(await refusal(undefined, { maxAvgPrice: 0.5 })).toBe("SLIPPAGE");
  expect(await refusal(undefined, { marketId: "m" })).toBe("MARKET_NOT_FOUND");
  await tenant.api().suspendMarket({ id: marketId });
  expect(await refusal("poor")).toBe("MARKET_SUSPENDED");
});
