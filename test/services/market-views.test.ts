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

  test("the end of a history stands for five seconds or until the hour ends, and a trade moves it at once", async () => {
    const id = await scene.market({ liquidityUsd: 50 });
    const endOf = async () => {
      const { t = "", yes } = (await scene.api().getMarketHistory({ id })).at(-1) ?? {};
      return { at: Date.parse(t), yes };
    };
    await buy(id, "yes", 10);
    const [first, second] = [await endOf(), await endOf()];
    const isLater = second.at - first.at >= 5000 || new Date(first.at).getHours() !== new Date(second.at).getHours();
    expect(second.at === first.at || isLater).toBe(true);
    await buy(id, "no", 20);
    const moved = await endOf();
    expect(moved.at).toBeGreaterThan(second.at);
    expect(moved.yes).toBe((await scene.api().getMarket({ id })).yesPrice);
  });

  test("a market that does not exist is not found", async () => {
    await expect(scene.api().getMarketHistory({ id: "nope" })).rejects.toMatchObject({ code: "MARKET_NOT_FOUND" });
    await expect(scene.api().getMarketDepth({ id: "nope" })).rejects.toMatchObject({ code: "MARKET_NOT_FOUND" });
  });
});
