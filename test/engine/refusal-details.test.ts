import { beforeEach, describe, expect, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import { execute } from "../../src/engine/commands.ts";
import { CLOSE, marketOf, NOW, openWorld, saleOf, tradeOf, usd, type World } from "./world.ts";

let world: World;
beforeEach(() => {
  world = openWorld({ maxTradeUsd: 500, maxUserExposureUsd: 10_000 });
  world.run(marketOf());
  world.trader("ann", { suitabilityScore: 20 });
  world.fund("ann", 100);
});

/** What the refusal of a command says of its reason. */
function detailOf(command: Parameters<typeof execute>[1], now = NOW): unknown {
  try {
    execute(world, command, now, now);
  } catch (error) {
    if (error instanceof Fault) return error.detail;
    throw error;
  }
  return "accepted";
}

describe("a refusal names the field that states its limit, the limit, and what met it:", () => {
  test("the limit per trade", () => {
    expect(detailOf(tradeOf({ amountMicro: usd(600) }))).toEqual({
      field: "policy.maxTradeUsd",
      limit: "500",
      value: "600",
    });
  });

  test("the exposure, by whichever cap is the lower one", () => {
    world.policy({ maxUserExposureUsd: 9 });
    const limit = { limit: "9", value: "10" };
    expect(detailOf(tradeOf({ amountMicro: usd(10) }))).toEqual({ field: "policy.maxUserExposureUsd", ...limit });
    world.policy({
      maxUserExposureUsd: 10_000,
      suitabilityThresholds: { blockBelow: 0, tiers: [{ minScore: 0, capUsd: 9 }] },
    });
    expect(detailOf(tradeOf({ amountMicro: usd(10) }))).toEqual({
      field: "policy.suitabilityThresholds.tiers",
      ...limit,
    });
  });

  test("funds, and shares", () => {
    expect(detailOf(tradeOf({ amountMicro: usd(101) }))).toEqual({ limit: "100", value: "101" });
    expect(detailOf(saleOf({ sharesMicro: usd(3) }))).toEqual({ limit: "0", value: "3" });
    expect(detailOf({ type: "requestWithdrawal", id: "wd_1", traderId: "ann", amountMicro: usd(101) })).toEqual({
      limit: "100",
      value: "101",
    });
  });

  test("the treasury", () => {
    expect(detailOf(marketOf({ id: "m9", liquidityMicro: usd(1e9) }))).toMatchObject({
      field: "treasury.capitalUsd",
      value: "1000000000",
    });
  });

  test("the user's standing", () => {
    world.trader("ann", { suitabilityScore: null });
    world.policy({ suitabilityRequired: true });
    expect(detailOf(tradeOf())).toMatchObject({ field: "policy.suitabilityRequired" });
    world.policy({ jurisdictions: { allowed: [], blocked: ["US"] } });
    world.trader("ann", { jurisdiction: "US-NY" });
    expect(detailOf(tradeOf())).toEqual({ field: "policy.jurisdictions.blocked", value: "US-NY" });
  });

  test("the closing time", () => {
    expect(detailOf(tradeOf(), CLOSE)).toEqual({ value: "closed", closeAt: new Date(CLOSE).toISOString() });
  });
});
