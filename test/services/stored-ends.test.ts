import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sql } from "../../src/postgres/connect.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
let [voided, corrected] = ["", ""];
beforeAll(async () => {
  tenant = await openTestTenant({ correctionHours: 24 });
  await tenant.deposit("ann", 100);
  [voided, corrected] = [await tenant.market(), await tenant.market()];
  for (const marketId of [voided, corrected])
    await tenant.api("ann").placeTrade({ marketId, selection: { side: "yes" }, amount: 20 });
  await tenant.api().voidMarket({ id: voided, reason: "The match was called off" });
  await tenant.api().settleMarket({ marketId: corrected, outcome: "yes" });
  await tenant.api().correctMarket({ id: corrected, outcome: { yes: 0.4 }, reason: "The final report" });
});
afterAll(() => tenant.close());

test("ends as they were stored agree with the log", async () => {
  expect(await tenant.faults()).toEqual([]);
});

test.each<[what: string, tamper: (sql: Sql) => PromiseLike<unknown>, back: (sql: Sql) => PromiseLike<unknown>]>([
  [
    "the reason of a void",
    (sql) => sql`update market_end set reason = 'another' where market_id = ${voided}`,
    (sql) => sql`update market_end set reason = 'The match was called off' where market_id = ${voided}`,
  ],
  [
    "how many positions were paid",
    (sql) => sql`update market_end set payouts = payouts + 1 where market_id = ${voided}`,
    (sql) => sql`update market_end set payouts = payouts - 1 where market_id = ${voided}`,
  ],
  [
    "the fees that were given back",
    (sql) => sql`update market_end set fees_micro = fees_micro - 1 where market_id = ${voided}`,
    (sql) => sql`update market_end set fees_micro = fees_micro + 1 where market_id = ${voided}`,
  ],
  [
    "what the treasury got",
    (sql) => sql`update market_end set treasury_micro = treasury_micro + 1 where market_id = ${corrected}`,
    (sql) => sql`update market_end set treasury_micro = treasury_micro - 1 where market_id = ${corrected}`,
  ],
  [
    "the reason of a correction",
    (sql) => sql`update market_end set corrections = replace(corrections, 'final', 'first')`,
    (sql) => sql`update market_end set corrections = replace(corrections, 'first', 'final')`,
  ],
  [
    "an outcome between the sides",
    (sql) => sql`update book set outcome = '0.5' where market_id = ${corrected}`,
    (sql) => sql`update book set outcome = '0.4' where market_id = ${corrected}`,
  ],
])("a change of a stored end is found: %s", async (_, tamper, back) => {
  await tamper(tenant.sql);
  expect(await tenant.faults()).not.toEqual([]);
  await back(tenant.sql);
  expect(await tenant.faults()).toEqual([]);
});
