import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

describe("what traders look at", () => {
  let scene: TestTenant;
  beforeAll(async () => {
    scene = await openTestTenant();
    await scene.deposit("ann", 10_000);
  });
  afterAll(() => scene.close());

  const buy = (marketId: string, side: "yes" | "no", amount: number) =>
    scene.api("ann").placeTrade({ marketId, selection: { side }, amount });

  test("trending lists the open markets with the largest 24-hour volume, twenty at the most, ties by id", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 23; index++) ids.push(await scene.market({ liquidityUsd: 50 }));
    const [first = "", second = "", halted = "", settled = ""] = ids;
    await buy(second, "yes", 30);
    await buy(first, "no", 20);
    await buy(halted, "yes", 40);
    await buy(settled, "yes", 50);
    await scene.api().suspendMarket({ id: halted });
    await scene.api().settleMarket({ marketId: settled, outcome: "yes" });
    const trending = await scene.api().listTrendingMarkets({});
    expect(trending).toHaveLength(20);
    expect(trending.map(({ id }) => id)).toEqual([second, first, ...ids.slice(4).toSorted().slice(0, 18)]);
    expect(trending[0]).toEqual({
      id: second,
      question: "Will it rain?",
      yesPrice: (await scene.api().getMarket({ id: second })).yesPrice,
      volume24h: 30,
    });
  });

  test("history opens with p0, ends with the latest price, and survives the settlement", async () => {
    const id = await scene.market({ p0: 0.3 });
    const { createdAt } = await scene.api().getMarket({ id });
    await buy(id, "yes", 100);
    const open = await scene.api().getMarketHistory({ id });
    const { yesPrice, noPrice } = await scene.api().getMarket({ id });
    expect(open[0]).toEqual({ t: createdAt, yes: 0.3, no: 0.7 });
    expect(open.at(-1)).toMatchObject({ yes: yesPrice, no: noPrice });
    const { settledAt } = await scene.api().settleMarket({ marketId: id, outcome: "no" });
    expect((await scene.api().getMarketHistory({ id })).at(-1)).toEqual({ t: settledAt, yes: yesPrice, no: noPrice });
  });

  test.each(["cpmm", "lmsr"] as const)("%s depth: buying the first level's shares lands on its price", async (kind) => {
    const id = await scene.market({ kind, p0: 0.4 });
    const { yes, no } = await scene.api().getMarketDepth({ id });
    expect([yes.length, no.length]).toEqual([10, 10]);
    expect([yes[0]?.price, no[0]?.price]).toEqual([0.41, 0.61]);
    // The fee of one percent comes on top of what the ladder's shares cost.
    const [size, price] = [no[0]?.size ?? 0, no[0]?.price ?? 0];
    const cost = Math.round(size * ((0.6 + price) / 2) * 1e6) / 1e6;
    const trade = await buy(id, "no", Math.round((cost / 0.99) * 1e4) / 1e4);
    expect(trade.shares).toBeCloseTo(size, 1);
    expect(1 - trade.yesPriceAfter).toBeCloseTo(price, 4);
  });

  test("a market that takes no trades has nothing on offer", async () => {
    const id = await scene.market();
    await scene.api().suspendMarket({ id });
    expect(await scene.api().getMarketDepth({ id })).toEqual({ yes: [], no: [] });
    await scene.api().settleMarket({ marketId: id, outcome: "yes" });
    expect(await scene.api().getMarketDepth({ id })).toEqual({ yes: [], no: [] });
  });

  test("a market that does not exist is not found", async () => {
    await expect(scene.api().getMarketHistory({ id: "nope" })).rejects.toMatchObject({ code: "MARKET_NOT_FOUND" });
    await expect(scene.api().getMarketDepth({ id: "nope" })).rejects.toMatchObject({ code: "MARKET_NOT_FOUND" });
  });
});
