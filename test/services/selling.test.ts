import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant();
  for (const user of ["ann", "bob"]) await tenant.deposit(user, 5000);
});
afterAll(() => tenant.close());

describe.each(["cpmm", "lmsr"] as const)("selling on %s", (kind) => {
  test("reduces the position, pays the wallet less the fee, and the ledger adds up", async () => {
    const marketId = await tenant.market({ kind });
    const api = tenant.api("ann");
    const bought = await api.placeTrade({ marketId, selection: { side: "yes" }, amount: 100 });
    const before = await api.getWallet({});
    const sold = await api.placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares: 40 });
    expect(sold).toMatchObject({ marketId, side: "yes", action: "sell", shares: 40 });
    expect(sold.avgPrice).toBeCloseTo(sold.amount / 40, 6);
    expect(sold.fee).toBeCloseTo(Math.ceil(sold.amount * 1e4) / 1e6, 6);
    expect(sold.position.shares).toBeCloseTo(bought.shares - 40, 6);
    const after = await api.getWallet({});
    expect(after.balanceUsd - before.balanceUsd).toBeCloseTo(sold.amount - sold.fee, 6);
    const released = (100 * 40) / bought.shares;
    expect(before.exposureUsd - after.exposureUsd).toBeCloseTo(released, 5);
    expect(sold.realizedPnl).toBeCloseTo(sold.amount - sold.fee - released, 5);
    expect(await tenant.faults()).toEqual([]);
  });

  test("everything and settling leaves no fraction anywhere", async () => {
    const marketId = await tenant.market({ kind, p0: 0.3 });
    const [ann, bob] = [tenant.api("ann"), tenant.api("bob")];
    const { shares } = await ann.placeTrade({ marketId, selection: { side: "no" }, amount: 123.456789 });
    await bob.placeTrade({ marketId, selection: { side: "yes" }, amount: 77.7 });
    const sold = await ann.placeOrder({ marketId, selection: { outcome: 0, action: "sell" }, shares });
    expect(sold).toMatchObject({ status: "filled", outcome: 0, action: "sell", position: { shares: 0 } });
    expect((await ann.listPositions({})).filter((each) => each.marketId === marketId)).toEqual([]);
    expect(await tenant.faults()).toEqual([]);
    expect(await tenant.api().settleMarket({ marketId, outcome: "yes" })).toMatchObject({ payoutsProcessed: 1 });
    expect(await tenant.faults()).toEqual([]);
    const [escrow] = await tenant.sql`select balance_micro from account where id = ${`escrow:${marketId}`}`;
    expect(escrow?.balance_micro).toBe("0");
  });
});

test("more shares than are held is refused, and so are those of the other side", async () => {
  const marketId = await tenant.market();
  const api = tenant.api("bob");
  const { shares } = await api.placeTrade({ marketId, selection: { side: "yes" }, amount: 10 });
  const sell = (side: "yes" | "no", amount: number) =>
    api.placeTrade({ marketId, selection: { side, action: "sell" }, shares: amount });
  await expect(sell("yes", Number((shares + 0.000001).toFixed(6)))).rejects.toMatchObject({
    code: "INSUFFICIENT_SHARES",
  });
  await expect(sell("no", 1)).rejects.toMatchObject({ code: "INSUFFICIENT_SHARES" });
});

test("two processes that sell the same shares at once: they are sold once", async () => {
  const marketId = await tenant.market();
  const other = await tenant.anotherProcess();
  const apis = [tenant.api("bob"), localApi(other.handlers, { actor: "admin:ops", user: { id: "bob" } })];
  for (let round = 0; round < 5; round++) {
    const { position } = await tenant.api("bob").placeTrade({ marketId, selection: { side: "no" }, amount: 10 });
    const sell = { marketId, selection: { side: "no", action: "sell" }, shares: position.shares } as const;
    const outcomes = await Promise.allSettled([...apis, ...apis].map((api) => api.placeTrade(sell)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "INSUFFICIENT_SHARES" });
  }
  await other.close();
  expect(await tenant.faults()).toEqual([]);
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

test.each([
  ["shares in a purchase", { selection: { side: "yes" }, amount: 1, shares: 1 }, "shares: does not go with a purchase"],
  ["a sale by amount", { selection: { side: "yes", action: "sell" }, amount: 1 }, "shares: is required"],
  [
    "a bound of the other kind",
    { selection: { side: "yes", action: "sell" }, shares: 1, maxAvgPrice: 0.5 },
    "maxAvgPrice: does not go with a sale",
  ],
  ["neither", { selection: { side: "yes" } }, "amount: is required"],
])("%s is refused, naming the field", async (_name, body, message) => {
  await expect(tenant.api("bob").placeTrade({ marketId: "m", ...body } as never)).rejects.toMatchObject({
    code: "BAD_REQUEST",
    message,
  });
});

test.each([
  "shares_micro = shares_micro + 1",
  "released_micro = released_micro + 1",
  "amount_micro = amount_micro + 1",
])("a sale that was tampered with is found: %s", async (change) => {
  const marketId = await tenant.market();
  const api = tenant.api("bob");
  await api.placeTrade({ marketId, selection: { side: "yes" }, amount: 10 });
  const { tradeId } = await api.placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares: 5 });
  const before = await tenant.sql`select shares_micro, released_micro, amount_micro from trade where id = ${tradeId}`;
  await tenant.sql.unsafe(`update trade set ${change} where id = '${tradeId}'`);
  expect(await tenant.faults()).toContain("trades");
  const [row] = before;
  await tenant.sql`
      update trade
         set shares_micro = ${row?.shares_micro}, released_micro = ${row?.released_micro}, amount_micro = ${row?.amount_micro}
       where id = ${tradeId}`;
  expect(await tenant.faults()).toEqual([]);
});
