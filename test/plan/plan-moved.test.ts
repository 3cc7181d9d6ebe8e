import { describe, expect, test } from "vitest";
import { onlyTargets } from "../../src/plan/plan-desired.ts";
import { desiredOf, type Files, PlannedTenant, refusalOf, summary } from "./plan-world.ts";

const rain = { key: "rain" };
const storm = { key: "storm", moved: "rain" };

function applied(markets: Files["markets"] = [rain]) {
  const tenant = new PlannedTenant();
  tenant.apply({ markets });
  return tenant;
}

describe("`moved` in a market file", () => {
  test("gives the market another key, moves no money, and does nothing more once that is applied", () => {
    const tenant = applied();
    const [id] = tenant.world.all("market").map(([each]) => each);
    const before = tenant.world.balance("treasury");
    const plan = tenant.plan({ markets: [storm] });
    expect(plan.items).toEqual([
      { field: "markets.storm", kind: "move", base: "rain", desired: "storm", live: "rain", direction: "neutral" },
    ]);
    expect(plan.warnings).toEqual([]);
    tenant.apply({ markets: [storm] });
    expect(tenant.world.balance("treasury")).toBe(before);
    expect(tenant.live().markets).toMatchObject([{ id, key: "storm", formerKeys: ["rain"] }]);
    for (const markets of [[storm], [{ key: "storm" }]])
      expect(tenant.plan({ markets })).toMatchObject({ empty: true, items: [], warnings: [] });
  });

  test("goes along with another state, in the same apply", () => {
    const tenant = applied();
    const suspended = { ...storm, state: "suspended" as const };
    expect(summary(tenant.apply({ markets: [suspended] }))).toEqual([
      "markets.storm move neutral",
      "markets.storm change tightens",
    ]);
    expect(tenant.live().markets).toMatchObject([{ key: "storm", status: "suspended" }]);
    expect(tenant.plan({ markets: [suspended] }).empty).toBe(true);
  });

  test("keeps what an earlier apply was told to keep", () => {
    const tenant = applied();
    const [market] = tenant.live().markets;
    tenant.world.run({ type: "suspendMarket", marketId: String(market?.id) });
    tenant.apply({ markets: [rain] }, { onDrift: "adopt" });
    expect(summary(tenant.apply({ markets: [storm] }))).toEqual([
      "markets.storm move neutral",
      "markets.storm adopted loosens",
    ]);
    expect(tenant.plan({ markets: [storm] })).toMatchObject({ empty: true, items: [{ kind: "adopted" }] });
  });

  test("of a key that no market ever had creates the market as any other", () => {
    expect(applied([]).plan({ markets: [storm] }).items).toMatchObject([
      { field: "markets.storm", kind: "change", live: null },
    ]);
  });

  test.each([
    ["both are markets", [rain, { key: "storm" }], [storm], "rain and storm are two markets"],
    ["both are declared", [rain], [rain, storm], "rain is still declared"],
  ])("is a conflict where %s", (_, before, after, problem) => {
    const tenant = applied(before);
    expect(refusalOf(() => tenant.apply({ markets: after }))).toContain(problem);
  });

  test("a key that a market gave up is no other one's: the plan names the way back", () => {
    const tenant = applied();
    tenant.apply({ markets: [storm] });
    expect(refusalOf(() => tenant.apply({ markets: [rain] }))).toContain("`moved: storm` takes it back");
    expect(refusalOf(() => tenant.apply({ markets: [storm, rain] }))).toContain("this key became storm");
    expect(summary(tenant.plan({ markets: [{ key: "rain", moved: "storm" }] }))).toEqual(["markets.rain move neutral"]);
  });

  test("needs the scope `markets`", () => {
    const tenant = applied();
    const desired = desiredOf({ markets: [storm] });
    expect(tenant.plan(desired).items).toHaveLength(1);
    expect(() =>
      tenant.world.decide({
        type: "applyConfig",
        policy: {},
        kycRequired: true,
        liquidityMicro: 0n,
        capitalMicro: 0n,
        keys: [],
        names: [{ marketId: "m1", key: "storm", from: "rain" }],
        document: "{}",
        documentSha256: "",
        gitCommit: undefined,
        heldScopes: ["config"],
      }),
    ).toThrow(/scope markets because it gives keys to markets/);
  });

  test("may be the only target: the market leaves its old place in the document", () => {
    const tenant = applied([rain, { key: "snow" }]);
    const wanted = desiredOf({ markets: [storm], sections: { policy: "{ feeBps: 7 }" } });
    const only = onlyTargets(wanted, tenant.live(), ["markets.storm"]);
    expect(Object.keys(only.document.declared).sort()).toEqual(["snow", "storm"]);
    expect(summary(tenant.apply(only))).toEqual(["markets.storm move neutral"]);
  });
});
