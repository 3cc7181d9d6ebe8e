import { describe, expect, test } from "vitest";
import { configOf, NOW, openWorld, usd, World } from "./world.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;
const change = { capitalMicro: usd(150_000), document: '{"other":true}' };
const frozen = (until = NOW + HOUR) => {
  const world = openWorld();
  world.run({ type: "freezeConfig", until });
  return world;
};

describe("a freeze", () => {
  test("refuses an apply, one that changes nothing and a rollback too, until its instant and not a millisecond longer", () => {
    const world = frozen();
    world.wait(HOUR - 1);
    expect(world.refusal(configOf(change))).toBe("FROZEN");
    expect(world.refusal(configOf())).toBe("FROZEN");
    expect(world.refusal(configOf({ ...change, rollbackTo: 1 }))).toBe("FROZEN");
    world.wait(1);
    expect(world.refusal(configOf(change))).toBe("accepted");
  });

  test("stops no limit from being changed live", () => {
    expect(frozen().refusal({ type: "updatePolicy", patch: { maxTradeUsd: 5 } })).toBe("accepted");
  });

  test("is broken by an apply that says so, which is on record, and stands afterwards", () => {
    const world = frozen();
    const { draft } = world.run(configOf({ ...change, breakFreeze: true }));
    expect(draft.audit.at(-1)).toMatchObject({
      type: "config.applied",
      payload: { frozenUntil: new Date(NOW + HOUR).toISOString() },
    });
    expect(world.refusal(configOf({ document: "{}" }))).toBe("FROZEN");
  });

  test("is not mentioned by an apply that had none to break", () => {
    const { draft } = openWorld().run(configOf({ ...change, breakFreeze: true }));
    expect(draft.audit.at(-1)?.payload).toMatchObject({ frozenUntil: undefined });
  });

  test("is replaced by a later one, lifted once, and then lifting it again is not recorded", () => {
    const world = frozen(NOW + DAY);
    expect(world.run({ type: "freezeConfig", until: NOW + HOUR }).draft.audit).toEqual([
      { type: "config.frozen", payload: { until: new Date(NOW + HOUR).toISOString() } },
    ]);
    const lifted = world.run({ type: "unfreezeConfig" });
    expect(lifted.result).toEqual({ changed: true });
    expect(lifted.draft.audit).toEqual([
      { type: "config.unfrozen", payload: { until: new Date(NOW + HOUR).toISOString() } },
    ]);
    expect(world.refusal(configOf(change))).toBe("accepted");
    expect(world.run({ type: "unfreezeConfig" }).draft.audit).toEqual([]);
  });

  test.each([
    ["now", NOW, "BAD_REQUEST"],
    ["30 days ahead by a clock that is fast", NOW + 30 * DAY + 60_000, "accepted"],
    ["31 days ahead", NOW + 31 * DAY, "BAD_REQUEST"],
  ])("until %s", (_, until, outcome) => {
    expect(openWorld().refusal({ type: "freezeConfig", until })).toBe(outcome);
  });

  test("needs a tenant that was applied", () => {
    expect(new World().refusal({ type: "freezeConfig", until: NOW + HOUR })).toBe("REFUSED");
  });
});
