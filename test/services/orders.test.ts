import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant({ policy: { maxTradeUsd: 1000 } });
  for (const user of ["ann", "bob"]) await tenant.deposit(user, 5000);
});
afterAll(() => tenant.close());

const hedgeRef = { symbol: "btc-perp", direction: "long", notional: 250_000, externalRef: "pos_1" } as const;
const stored = { ...hedgeRef, symbol: "BTC-PERP" };

describe("orders", () => {
  test("a numeric outcome is a side, and the answer is the trade with its order's fields", async () => {
    const marketId = await tenant.market();
    const api = tenant.api("ann");
    const order = await api.placeOrder({ marketId, selection: { outcome: 0 }, amount: 25 });
    expect(order).toEqual({
      action: "buy",
      orderId: order.tradeId,
      tradeId: expect.stringMatching(/^trd_/),
      status: "filled",
      outcome: 0,
      marketId,
      side: "no",
      amount: 25,
      fee: 0.25,
      shares: expect.any(Number),
      avgPrice: expect.any(Number),
      yesPriceAfter: expect.any(Number),
      ts: expect.any(String),
      position: expect.any(Object),
    });
    expect((await api.placeOrder({ marketId, selection: { outcome: 1 }, amount: 5 })).side).toBe("yes");
  });

  test("the tag comes back, stands in the audit entry, and in the order", async () => {
    const marketId = await tenant.market();
    const api = tenant.api("ann");
    const order = await api.placeOrder({ marketId, selection: { outcome: 1 }, amount: 25, hedgeRef });
    expect(order.hedgeRef).toEqual(stored);
    const trade = await api.placeTrade({ marketId, selection: { side: "no" }, amount: 5, hedgeRef });
    expect(trade.hedgeRef).toEqual(stored);
    const { entries } = await tenant.api().listAudit({ limit: 1 });
    expect(entries[0]?.payload).toMatchObject({ tradeId: trade.tradeId, hedgeRef: stored });
    expect(await api.getOrder({ id: order.orderId })).toMatchObject({ orderId: order.orderId, hedgeRef: stored });
    expect(await tenant.faults()).toEqual([]);
  });

  test("the list holds the user's own, newest first, and pages without losing or repeating one", async () => {
    const marketId = await tenant.market();
    const api = tenant.api("bob");
    const ids: string[] = [];
    for (let amount = 1; amount <= 5; amount++)
      ids.unshift((await api.placeOrder({ marketId, selection: { outcome: 1 }, amount })).orderId);
    await api.placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares: 1 });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await api.listOrders({ limit: 2, cursor, marketId });
      seen.push(...page.items.map(({ orderId, action }) => (action === "sell" ? "sold" : orderId)));
      cursor = page.nextCursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(["sold", ...ids]);
    await expect(tenant.api("ann").getOrder({ id: ids[0] ?? "" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(api.listOrders({ cursor: "bm9uc2Vuc2U" })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  test("a sale hedges nothing, so its tag is refused", async () => {
    const sale = { marketId: "m", selection: { outcome: 1, action: "sell" }, shares: 1, hedgeRef } as const;
    await expect(tenant.api("ann").placeOrder(sale)).rejects.toMatchObject({
      code: "BAD_REQUEST",
      message: "hedgeRef: does not go with a sale",
    });
  });

  test("a tag that was tampered with is found", async () => {
    await tenant.sql`update hedge set notional_minor = notional_minor + 1`;
    expect(await tenant.faults()).toEqual(["hedges"]);
    await tenant.sql`update hedge set notional_minor = notional_minor - 1`;
    const removed = await tenant.sql`delete from hedge where seq = (select min(seq) from hedge) returning *`;
    expect(await tenant.faults()).toEqual(["hedges"]);
    const [row] = removed;
    await tenant.sql`insert into hedge ${tenant.sql(row ?? {})}`;
    expect(await tenant.faults()).toEqual([]);
  });
});

describe("the hedge book", () => {
  test("adds open tags up by symbol; a sale takes its share out, and a settlement the rest", async () => {
    const book = async (symbol: string) =>
      (await tenant.api().getHedgeExposure({})).hedgeBook.find((row) => row.symbol === symbol);
    const [first, second] = [await tenant.market(), await tenant.market({ kind: "lmsr" })];
    const api = tenant.api("bob");
    const tag = { ...hedgeRef, symbol: "eth-perp" };
    const bought = await api.placeOrder({ marketId: first, selection: { outcome: 1 }, amount: 50, hedgeRef: tag });
    await api.placeOrder({
      marketId: second,
      selection: { outcome: 0 },
      amount: 30,
      hedgeRef: { ...tag, direction: "short", notional: 100 },
    });
    await api.placeOrder({ marketId: second, selection: { outcome: 1 }, amount: 99 });
    expect(await book("ETH-PERP")).toEqual({
      symbol: "ETH-PERP",
      openTrades: 2,
      longHedges: 1,
      shortHedges: 1,
      totalNotionalMinor: 250_100,
      activeCostMinor: 8000,
    });
    const half = Number((bought.shares / 2).toFixed(6));
    await api.placeTrade({ marketId: first, selection: { side: "yes", action: "sell" }, shares: half });
    expect((await book("ETH-PERP"))?.activeCostMinor).toBe(5500);
    // What is bought later without a tag gives the sold part of the tags nothing back.
    await api.placeTrade({ marketId: first, selection: { side: "yes" }, amount: 50 });
    expect((await book("ETH-PERP"))?.activeCostMinor).toBe(5500);
    await tenant.api().settleMarket({ marketId: first, outcome: "yes" });
    expect(await book("ETH-PERP")).toMatchObject({ openTrades: 1, longHedges: 0, activeCostMinor: 3000 });
    await tenant.api().settleMarket({ marketId: second, outcome: "yes" });
    expect(await book("ETH-PERP")).toBeUndefined();
  });
});

describe("a quote", () => {
  test.each(["cpmm", "lmsr"] as const)(
    "is the trade that follows, to the micro, and stores nothing: %s",
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
        for (const { ts, yesPriceBefore, priceImpact, ...same } of [quote, anonymous])
          expect(trade).toMatchObject(same);
      }
    },
  );

  test("knows the market's refusals without a user, and the user's own with one", async () => {
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
});
