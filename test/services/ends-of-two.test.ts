import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant({ processes: 2, correctionHours: 24 });
});
afterAll(() => tenant.close());

const buy = (process: 0 | 1, user: string, marketId: string, amount: number) =>
  as(process, user).placeTrade({ marketId, selection: { side: "yes" }, amount });

function as(process: 0 | 1, user?: string) {
  const { handlers } = tenant.processes[process] ?? tenant.services;
  return localApi(handlers, { actor: "admin:ops", user: user === undefined ? undefined : { id: user } });
}

test("a process follows a void and a correction of another: its users spend what they were paid, and owe what was taken", async () => {
  const [voided, settled, open] = [await tenant.market(), await tenant.market(), await tenant.market()];
  await tenant.deposit("ann", 60);
  // The second process has the market, the wallet and the positions in memory.
  await buy(1, "ann", voided, 30);
  const { shares } = await buy(1, "ann", settled, 30);
  expect(await as(1, "ann").getWallet({})).toMatchObject({ balanceUsd: 0, exposureUsd: 60 });

  await as(0).voidMarket({ id: voided, reason: "The match was called off" });
  expect(await as(1).getMarket({ id: voided })).toMatchObject({ status: "settled", outcome: "void" });
  expect(await as(1, "ann").getWallet({})).toMatchObject({ balanceUsd: 30, exposureUsd: 30 });
  await expect(buy(1, "ann", voided, 1)).rejects.toMatchObject({ code: "MARKET_SETTLED" });
  await buy(1, "ann", open, 30);

  await as(0).settleMarket({ marketId: settled, outcome: "yes" });
  await buy(1, "ann", open, shares - 10);
  await as(0).correctMarket({ id: settled, outcome: "no", reason: "The final report" });
  expect(await as(1, "ann").getWallet({})).toMatchObject({ balanceUsd: 0, owedUsd: expect.closeTo(shares - 10, 6) });
  await expect(buy(1, "ann", open, 1)).rejects.toMatchObject({ code: "INSUFFICIENT_FUNDS" });
  // And the second corrects what the first has corrected.
  await as(1).correctMarket({ id: settled, outcome: "yes", reason: "It was right at first" });
  expect(await as(0, "ann").getWallet({})).toMatchObject({ balanceUsd: 10, owedUsd: 0 });
  expect((await as(0).getMarket({ id: settled })).corrections.map(({ from, to }) => [from, to])).toEqual([
    ["yes", "no"],
    ["no", "yes"],
  ]);
  expect(await tenant.faults()).toEqual([]);
});

test("two processes that void one market at once pay it once", async () => {
  const id = await tenant.market();
  await tenant.deposit("bob", 20);
  await buy(0, "bob", id, 20);
  const reason = "The match was called off";
  const ends = await Promise.allSettled([0, 1].map((each) => as(each as 0 | 1).voidMarket({ id, reason })));
  expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(ends.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "MARKET_SETTLED" } });
  expect(await as(1, "bob").getWallet({})).toMatchObject({ balanceUsd: 20, exposureUsd: 0 });
  expect(await tenant.faults()).toEqual([]);
});
