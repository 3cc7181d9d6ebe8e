import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { holdersOf, readLife, tradesIn } from "../../src/console/views/market/life.ts";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:second" });
const trader = (id: string) => localApi(tenant.services.handlers, { actor: `user:${id}`, user: { id } });

beforeAll(async () => {
  for (const id of ["usr_1", "usr_2"]) await tenant.deposit(id, 500);
  for (const id of ["mkt_a", "mkt_b"]) await openHeld(tenant, id, `Will ${id} open?`, "usr_1");
});

test("a market's life is read from its creation on, and later only what is new; nothing is there twice", async () => {
  const first = await readLife(operator(), "mkt_a");
  expect(first).toMatchObject({ isWhole: true, entries: [{ type: "trade.executed" }, { type: "market.created" }] });
  expect(await readLife(operator(), "mkt_a", first)).toBe(first);
  await operator().suspendMarket({ id: "mkt_b" });
  await operator().suspendMarket({ id: "mkt_a" });
  await operator().resumeMarket({ id: "mkt_a" });
  const later = await readLife(operator(), "mkt_a", first);
  expect(later.entries.map(({ type }) => type)).toEqual([
    "market.resumed",
    "market.suspended",
    "trade.executed",
    "market.created",
  ]);
  expect(await readLife(operator(), "mkt_a")).toEqual(later);
});

test("positions by holder, summed from the trades, are those that each holder has", async () => {
  const of = { marketId: "mkt_a" };
  const heldBy = async (id: string) =>
    (await trader(id).listPositions({})).filter(({ marketId }) => marketId === "mkt_a");
  await trader("usr_2").placeTrade({ ...of, selection: { side: "no" }, amount: 7.5 });
  const [{ shares } = { shares: 0 }] = await heldBy("usr_1");
  const sold = Math.floor(shares) - 4;
  await trader("usr_1").placeTrade({ ...of, selection: { side: "yes", action: "sell" }, shares: sold });
  const holders = holdersOf(tradesIn(await readLife(operator(), "mkt_a")));
  expect(holders.map(({ userId }) => userId)).toEqual(["usr_2", "usr_1"]);
  for (const { userId, yes, no, costUsd } of holders) {
    const [held] = await heldBy(userId);
    expect(held?.shares).toBe(yes || no);
    expect(held?.avgCost).toBeCloseTo(costUsd / (yes || no), 5);
  }
});
