import { beforeEach, describe, expect, test } from "vitest";
import { everyPage } from "../../src/client/pages.ts";
import { usdFromMicro } from "../../src/domain/money.ts";
import type { UnsettledMarket } from "../../src/plan/plan-types.ts";
import { type Files, PlannedTenant, refusalOf, summary } from "./plan-world.ts";

const ID = "mkt_1";
const rain = { key: "rain", import: ID, liquidityUsd: 50_000_000n };

let tenant: PlannedTenant;
beforeEach(() => {
  tenant = new PlannedTenant();
  tenant.apply({ sections: { treasury: "{ capitalUsd: 1000 }" } });
  tenant.world.run({
    type: "createMarket",
    id: ID,
    question: "Will it rain?",
    category: "weather",
    kind: "cpmm",
    p0Ppm: 500_000,
    closeAt: tenant.world.now + 86_400_000,
    resolutionRef: "by hand",
    meta: "{}",
    liquidityMicro: 50_000_000n,
  });
  const live = tenant.live.bind(tenant);
  // As plans of files with `import` read it.
  tenant.live = () => ({ ...live(), unkeyed: unkeyed(tenant) });
});

function unkeyed({ world }: PlannedTenant): UnsettledMarket[] {
  const keyed = new Set(world.all("marketKey").map(([, { id }]) => id));
  return world.all("market").flatMap(([id, market]) => {
    const status = world.get("marketState", id)?.status;
    if (status === undefined || status === "settled" || keyed.has(id)) return [];
    const { p0Ppm, fundMicro, meta, closeAt: closing, ...terms } = market;
    const closeAt = new Date(closing).toISOString();
    const stated = { p0: p0Ppm / 1e6, liquidityUsd: usdFromMicro(fundMicro), meta: JSON.parse(meta) };
    return [{ ...terms, ...stated, closeAt, status, proposalId: null, key: null }];
  });
}

const sections = { treasury: "{ capitalUsd: 1000 }" };
const files = (...markets: NonNullable<Files["markets"]>): Files => ({ sections, markets });

describe("`import` in a market file", () => {
  test("takes a market over: no money, no new market, and nothing more once that is applied", () => {
    const before = tenant.world.balance("treasury");
    const plan = tenant.plan(files(rain));
    expect(plan.items).toEqual([
      { field: "markets.rain", kind: "import", base: null, desired: "rain", live: ID, direction: "neutral" },
    ]);
    expect(plan.warnings).toEqual([]);
    tenant.apply(files(rain));
    expect(tenant.world.balance("treasury")).toBe(before);
    expect(tenant.live().markets).toMatchObject([{ id: ID, key: "rain", formerKeys: [] }]);
    const { import: _, ...without } = rain;
    for (const market of [rain, without])
      expect(tenant.plan(files(market))).toMatchObject({ empty: true, items: [], warnings: [] });
  });

  test("goes along with another state, and with another key later", () => {
    const suspended = { ...rain, state: "suspended" as const };
    expect(summary(tenant.apply(files(suspended)))).toEqual([
      "markets.rain import neutral",
      "markets.rain change tightens",
    ]);
    expect(summary(tenant.apply(files({ ...suspended, key: "storm", moved: "rain" })))).toEqual([
      "markets.storm move neutral",
    ]);
    expect(tenant.plan(files({ ...suspended, key: "storm", moved: "rain" })).empty).toBe(true);
  });

  test.each([
    ["question", { question: "Will it snow?" }],
    ["kind", { kind: "lmsr" as const }],
    ["category", { category: "sports" }],
    ["p0", { p0: 0.4 }],
    ["resolutionRef", { resolutionRef: "the press" }],
    ["meta", { meta: { a: 1 } }],
    ["liquidityUsd", { liquidityUsd: 60_000_000n }],
  ])("is a conflict where the file states another %s than the market's", (term, other) => {
    expect(refusalOf(() => tenant.apply(files({ ...rain, ...other })))).toContain(`markets.rain.${term}: `);
  });

  test("is a conflict for an id that is unknown, or of a settled market", () => {
    expect(refusalOf(() => tenant.apply(files({ ...rain, import: "mkt_0" })))).toContain("no unsettled market mkt_0");
    tenant.world.run({ type: "settleMarket", marketId: ID, outcome: "yes" });
    expect(refusalOf(() => tenant.apply(files(rain)))).toContain(`no unsettled market ${ID}`);
  });

  test("is a conflict for a market that has another key, and for a key that is another market's", () => {
    tenant.apply(files(rain));
    const storm = { ...rain, key: "storm" };
    expect(refusalOf(() => tenant.apply(files(storm)))).toContain("`moved: rain` gives it this one");
    const { import: _, ...without } = rain;
    expect(refusalOf(() => tenant.apply(files(without, storm)))).toContain("is rain, which is declared too");
    expect(refusalOf(() => tenant.apply(files({ ...rain, import: "mkt_0" })))).toContain(`the market ${ID}'s`);
  });
});

test("all pages of a list are read", async () => {
  const read = async ({ cursor = "0" }) => ({ items: [cursor], nextCursor: cursor === "2" ? null : `${+cursor + 1}` });
  expect(await everyPage(read)).toEqual(["0", "1", "2"]);
});
