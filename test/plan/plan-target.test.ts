import { describe, expect, test } from "vitest";
import { refusalsOf } from "../../src/plan/plan-decision.ts";
import { onlyTargets } from "../../src/plan/plan-desired.ts";
import { desiredOf, type Files, PlannedTenant, summary } from "./plan-world.ts";

const before: Files = { sections: { policy: "{ maxTradeUsd: 500, feeBps: 100 }", rateLimit: "{ perMinute: 20 }" } };
const after: Files = {
  sections: { policy: "{ maxTradeUsd: 400, feeBps: 90 }", rateLimit: "{ perMinute: 30 }" },
  markets: [{}, { key: "snow" }],
  keys: { ops: "k1", web: "k2" },
};
const applied = () => {
  const tenant = new PlannedTenant();
  tenant.apply(before);
  return tenant;
};
const only = (tenant: PlannedTenant, ...targets: string[]) => onlyTargets(desiredOf(after), tenant.live(), targets);

describe("an apply of some fields", () => {
  test.each([
    [["policy.feeBps"], ["policy.feeBps change neutral"], []],
    [["markets.rain"], ["markets.rain change neutral"], []],
    [["keys.web"], ["keys.web change neutral"], []],
    [["rateLimit"], [], ["rateLimit.perMinute"]],
    [["policy", "rateLimit.perMinute"], undefined, ["rateLimit.perMinute"]],
  ])("of %j writes them, and leaves the others to a later plan", (targets, items, settings) => {
    const tenant = applied();
    const plan = tenant.apply(only(tenant, ...targets));
    expect(plan).toMatchObject({ targets, settings });
    expect(summary(plan)).toEqual(items ?? ["policy.feeBps change neutral", "policy.maxTradeUsd change tightens"]);
    expect(tenant.plan(only(tenant, ...targets))).toMatchObject({ empty: true });
    const rest = tenant.plan(after);
    const done = (field: string) => targets.some((target) => field.startsWith(target));
    expect(rest.items.map(({ field }) => field)).toEqual(
      ["policy.feeBps", "policy.maxTradeUsd", "keys.web", "markets.rain", "markets.snow"].filter((f) => !done(f)),
    );
    tenant.apply(after);
    expect(tenant.plan(after)).toMatchObject({ empty: true });
  });

  test("is not stopped by drift of the others, which stays drift", () => {
    const tenant = applied();
    tenant.put({ maxTradeUsd: 50 });
    const plan = tenant.plan(only(tenant, "policy.feeBps"));
    expect(refusalsOf(plan, { onDrift: "fail", acceptLoosening: false })).toEqual([]);
    tenant.apply(only(tenant, "policy.feeBps"));
    expect(tenant.policy()).toMatchObject({ maxTradeUsd: 50, feeBps: 90 });
    expect(
      summary(tenant.plan({ sections: { ...before.sections, policy: "{ maxTradeUsd: 500, feeBps: 90 }" } })),
    ).toEqual(["policy.maxTradeUsd drift loosens"]);
  });

  test("names what is not there, and needs an apply before it", () => {
    expect(() => only(applied(), "policy.feeBsp", "policy")).toThrow(expect.objectContaining({ code: "NOT_FOUND" }));
    expect(() => only(new PlannedTenant(), "policy")).toThrow(expect.objectContaining({ code: "USAGE" }));
  });
});
