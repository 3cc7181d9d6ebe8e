import { afterAll, beforeAll, expect, test } from "vitest";
import { planOn } from "../../src/app/apply/plan-tenant.ts";
import { readLive } from "../../src/app/tenant/config-session.ts";
import { factsOfPlan } from "../../src/plan/rules/rules.ts";
import { oracleSetup } from "../../src/services/oracle/feeds.ts";
import { parse, tenantText } from "../config/support.ts";
import { desiredOf, type Files } from "../plan/plan-world.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
let marketId: string;
beforeAll(async () => {
  tenant = await openTestTenant({ policy: { maxTradeUsd: 500, maxUserExposureUsd: 1000 } });
  marketId = await tenant.market();
  for (const [userId, amounts, country] of [
    ["ann", [500, 20], "CH"],
    ["bob", [300], "US-NY"],
    ["eve", [10], undefined],
  ] as const) {
    await tenant.services.sequencer.submit({
      command: {
        type: "recordKyc",
        traderId: userId,
        status: userId === "bob" ? "failed" : "passed",
        provider: "p",
        verifiedAt: 1,
        jurisdiction: country,
      },
      actor: "provider:p",
    });
    await tenant.deposit(userId, 2000);
    for (const amount of amounts) await tenant.api(userId).placeTrade({ marketId, selection: { side: "yes" }, amount });
  }
});
afterAll(() => tenant?.close());

const base = { kyc: "{ required: false }" };
async function planOf(files: Files) {
  const api = tenant.api();
  const desired = desiredOf({ keys: {}, ...files, sections: { ...base, ...files.sections } });
  const surroundings = { feeds: oracleSetup(), config: parse(tenantText()) };
  const planned = await planOn({ api, config: await readLive(api) }, () => desired, surroundings);
  const { money } = planned.plan;
  if (!money) throw new Error("A plan on what is live has its money");
  return { ...planned, money };
}
const moneyOf = async (files: Files) => (await planOf(files)).money;
const ruleOf = async (policy: string, sections: Record<string, string> = {}) =>
  (await moneyOf({ sections: { policy, ...sections } })).trades?.rules;

test("a lower limit per trade: the executed purchases above it, in number and dollars", async () => {
  expect(await ruleOf("{ maxTradeUsd: 299 }")).toMatchObject([
    { rule: "maxTradeUsd", refused: { trades: 2, usd: 800 }, admittedUsers: null },
  ]);
});

test("a rule that would have changed nothing is not told", async () => {
  for (const policy of ["{ maxTradeUsd: 499.999999 }", "{ maxTradeUsd: 501 }", "{ maxUserExposureUsd: 999 }"])
    expect([policy, (await ruleOf(policy))?.map(({ rule }) => rule)]).toEqual([
      policy,
      policy === "{ maxUserExposureUsd: 999 }" ? [] : ["maxTradeUsd"],
    ]);
  await tenant.api().updatePolicy({ maxTradeUsd: 600 });
  expect(await ruleOf("{ maxTradeUsd: 550 }")).toEqual([]);
  expect(await ruleOf("{ maxTradeUsd: 650 }")).toEqual([]);
  await tenant.api().updatePolicy({ maxTradeUsd: 500 });
});

test("a higher limit: refusals are not on record, and it says so beside what ran into the old one", async () => {
  const [rule] = (await ruleOf("{ maxTradeUsd: 600 }")) ?? [];
  expect(rule).toMatchObject({ refused: { trades: 0, usd: 0 }, note: expect.stringContaining("not recorded") });
  expect(rule?.note).toContain("1 purchase was of exactly 500 USD");
});

test("a lower exposure cap: purchases above it by themselves, and who holds more than it now", async () => {
  const [rule] = (await ruleOf("{ maxUserExposureUsd: 400 }")) ?? [];
  expect(rule).toMatchObject({ rule: "maxUserExposureUsd", refused: { trades: 1, usd: 500 } });
  expect(rule?.note).toContain("1 user holds 120 USD above");
});

test("a blocked jurisdiction: the trades of its users as they stand, and those whom only a token places", async () => {
  const [rule] = (await ruleOf('{ jurisdictions: { blocked: ["US"] } }')) ?? [];
  expect(rule).toMatchObject({ rule: "jurisdictions", refused: { trades: 1, usd: 300 }, admittedUsers: 0 });
  expect(rule?.note).toContain("for 1 trade only the user's token");
});

test("identity checks that are turned on, and an assessment that is required", async () => {
  expect(await ruleOf("{}", { kyc: "{ required: true }" })).toMatchObject([
    { rule: "kyc", refused: { trades: 1, usd: 300 } },
  ]);
  expect(await ruleOf("{ suitabilityRequired: true }")).toMatchObject([
    { rule: "suitability", refused: { trades: 4, usd: 830 } },
  ]);
});

test("new markets may lose what the house puts into them, and the treasury is compared with it", async () => {
  const money = await moneyOf({
    sections: { treasury: "{ capitalUsd: 100500 }", markets: "{ liquidityUsd: 1000 }" },
    markets: [
      { key: "a", liquidityUsd: 2_000_000_000n, closeAt: 4e12 },
      { key: "b", closeAt: 4e12 },
    ],
  });
  expect(money.newMarkets).toEqual({ count: 2, worstCaseLossUsd: 3000 });
  expect(money.treasury).toEqual({ nowUsd: 99_000, addedUsd: 500, afterUsd: 96_500 });
  expect(money.trades).toBeNull();
});

test("the worst case of a rule counts every unsettled market once, and the planned ones; not the settled", async () => {
  const files = { markets: [{ key: "c", liquidityUsd: 2_000_000_000n, closeAt: 4e12 }] };
  const worstCase = async () => factsOfPlan(await planOf(files), {}).worstCaseLoss;
  // The market of this file was made over the API and has no key.
  expect(await worstCase()).toBe(1000 + 2000);
  const settled = await tenant.market();
  expect(await worstCase()).toBe(1000 + 1000 + 2000);
  await tenant.api().settleMarket({ marketId: settled, outcome: "yes" });
  expect(await worstCase()).toBe(1000 + 2000);
});
