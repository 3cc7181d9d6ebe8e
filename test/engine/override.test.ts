import { describe, expect, test } from "vitest";
import { policyAt } from "../../src/domain/policy/policy.ts";
import type { Command } from "../../src/engine/commands.ts";
import { SINGLE } from "../../src/engine/rows.ts";
import { marketOf, openWorld, tradeOf, usd, type World } from "./world.ts";

const HOUR = 3_600_000;
const set = (patch: Command<"updatePolicy">["patch"], ttlMs?: number): Command<"updatePolicy"> => ({
  type: "updatePolicy",
  patch,
  ttlMs,
});

function inForce(world: World) {
  const tenant = world.get("tenant", SINGLE);
  if (!tenant) throw new Error("The tenant has not been applied yet");
  return policyAt(tenant, world.now);
}

describe("an override", () => {
  test("holds until its time and not a millisecond longer, with or without a sweep", () => {
    const world = openWorld({ maxTradeUsd: 100 });
    world.run(marketOf({ closeAt: world.now + 10 * HOUR }));
    world.trader("ann");
    world.fund("ann", 1000);
    world.run(set({ maxTradeUsd: 5 }, HOUR));
    expect(world.refusal(tradeOf({ amountMicro: usd(6) }))).toBe("MAX_TRADE_EXCEEDED");
    world.wait(HOUR - 1);
    expect(world.refusal(tradeOf({ amountMicro: usd(6) }))).toBe("MAX_TRADE_EXCEEDED");
    world.wait(1);
    expect(world.refusal(tradeOf({ amountMicro: usd(6) }))).toBe("accepted");
  });

  test("is recorded with its end, and its end is recorded once", () => {
    const world = openWorld({ maxTradeUsd: 100 });
    const { draft, result } = world.run(set({ maxTradeUsd: 5 }, HOUR));
    expect(result.policy?.maxTradeUsd).toBe(5);
    expect(draft.audit).toEqual([
      {
        type: "policy.updated",
        payload: {
          changes: { maxTradeUsd: { from: 100, to: 5 } },
          until: new Date(world.now + HOUR).toISOString(),
          state: expect.objectContaining({
            policy: expect.objectContaining({ maxTradeUsd: 100 }),
            overrides: [{ field: "maxTradeUsd", value: 5, until: new Date(world.now + HOUR).toISOString() }],
          }),
        },
      },
    ]);
    expect(world.run({ type: "endOverrides" }).result.ended).toBe(0);
    world.wait(HOUR);
    const end = world.run({ type: "endOverrides" });
    expect(end.draft.audit).toEqual([
      {
        type: "policy.updated",
        payload: {
          changes: { maxTradeUsd: { from: 5, to: 100 } },
          overridesEnded: ["maxTradeUsd"],
          state: expect.objectContaining({ overrides: [] }),
        },
      },
    ]);
    expect(world.run({ type: "endOverrides" }).draft.audit).toEqual([]);
  });

  test("ends when its field is changed for good, and others go on", () => {
    const world = openWorld({ maxTradeUsd: 100 });
    world.run(set({ maxTradeUsd: 5, feeBps: 50 }, HOUR));
    const { draft } = world.run(set({ maxTradeUsd: 5 }));
    expect(draft.audit[0]?.payload).toMatchObject({ changes: {}, overridesEnded: ["maxTradeUsd"] });
    world.wait(HOUR);
    expect(inForce(world)).toMatchObject({ maxTradeUsd: 5, feeBps: 0 });
  });

  test("on one list of jurisdictions does not change the other", () => {
    const world = openWorld();
    world.run(set({ jurisdictions: { blocked: ["US"] } }, HOUR));
    world.run(set({ jurisdictions: { allowed: ["CH"] } }));
    expect(inForce(world).jurisdictions).toEqual({ allowed: ["CH"], blocked: ["US"] });
    world.wait(HOUR);
    expect(inForce(world).jurisdictions).toEqual({ allowed: ["CH"], blocked: [] });
  });

  test("stated in part covers the whole of the thresholds", () => {
    const world = openWorld();
    world.run(set({ suitabilityThresholds: { blockBelow: 5 } }, HOUR));
    expect(inForce(world).suitabilityThresholds).toMatchObject({ blockBelow: 5, tiers: [{}, {}, {}] });
    world.wait(HOUR);
    expect(inForce(world).suitabilityThresholds.blockBelow).toBe(0);
  });
});
