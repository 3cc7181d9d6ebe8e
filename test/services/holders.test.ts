import { afterAll, beforeAll, expect, test } from "vitest";
import type { WireResult } from "../../src/contract/operations.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let scene: TestTenant;
beforeAll(async () => {
  scene = await openTestTenant();
  for (const user of ["ann", "bob", "cat", "dan"]) await scene.deposit(user, 1000);
});
afterAll(() => scene?.close());

const buy = (user: string, marketId: string, side: "yes" | "no", amount: number) =>
  scene.api(user).placeTrade({ marketId, selection: { side }, amount });
const listed = async (id: string) => (await scene.api().listMarketPositions({ id })).items;
const ofUser = async (user: string, marketId: string) =>
  (await scene.api(user).listPositions({})).filter((each) => each.marketId === marketId);

/** Ann holds most of the market, cat both sides, bob little, and dan nothing any more. */
async function heldMarket(): Promise<string> {
  const marketId = await scene.market();
  await buy("bob", marketId, "no", 5);
  await buy("ann", marketId, "yes", 40);
  for (const side of ["yes", "no"] as const) await buy("cat", marketId, side, 10);
  const { shares } = await buy("dan", marketId, "yes", 20);
  await scene.api("dan").placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares });
  return marketId;
}

test("holders are listed once, the largest position first, with what each one's own positions say", async () => {
  const id = await heldMarket();
  const holders = await listed(id);
  expect(holders.map(({ userId }) => userId)).toEqual(["ann", "cat", "bob"]);
  expect(holders.map(({ yesCost, noCost }) => yesCost + noCost)).toEqual([40, 20, 5]);
  for (const { userId, yesShares, noShares, yesCost, noCost, value, yesPayout, noPayout } of holders) {
    const own = await ofUser(userId, id);
    const of = (side: "yes" | "no") => own.find((each) => each.side === side);
    expect([yesShares, noShares]).toEqual([of("yes")?.shares ?? 0, of("no")?.shares ?? 0]);
    expect([yesPayout, noPayout]).toEqual([yesShares, noShares]);
    const gain = own.reduce((sum, { unrealizedPnl }) => sum + unrealizedPnl, 0);
    expect(value - yesCost - noCost).toBeCloseTo(gain, 6);
  }
});

test("pages of holders go on after the last one, and belong to their market", async () => {
  const [id, other] = [await heldMarket(), await heldMarket()];
  const seen: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: WireResult<"listMarketPositions"> = await scene.api().listMarketPositions({
      ...{ id, limit: 1 },
      ...(cursor === undefined ? {} : { cursor }),
    });
    seen.push(...page.items.map(({ userId }) => userId));
    cursor = page.nextCursor;
  }
  expect(seen).toEqual(["ann", "cat", "bob"]);
  const { nextCursor } = await scene.api().listMarketPositions({ id, limit: 1 });
  await expect(scene.api().listMarketPositions({ id: other, cursor: nextCursor ?? "" })).rejects.toMatchObject({
    code: "BAD_REQUEST",
  });
  await expect(scene.api().listMarketPositions({ id: "mkt_none" })).rejects.toMatchObject({ code: "MARKET_NOT_FOUND" });
});

test("of an ended market, the value is what its outcome paid; in a void what the shares cost", async () => {
  const [settled, voided] = [await heldMarket(), await heldMarket()];
  await scene.api().settleMarket({ marketId: settled, outcome: { yes: 0.25 } });
  await scene.api().voidMarket({ id: voided, reason: "a test", maxTreasuryUsd: 1000 });
  for (const { userId, value } of await listed(settled)) {
    const { settlements } = await scene.api(userId).getPortfolio({});
    const paid = settlements.filter(({ marketId }) => marketId === settled);
    expect(value).toBeCloseTo(
      paid.reduce((sum, { payout }) => sum + payout, 0),
      6,
    );
  }
  expect((await listed(voided)).map(({ value, yesCost, noCost }) => value - yesCost - noCost)).toEqual([0, 0, 0]);
});
