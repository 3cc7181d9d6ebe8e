import { describe, expect, test } from "vitest";
import type { Command } from "../../src/engine/commands.ts";
import { CLOSE, marketOf, openWorld } from "./world.ts";

const close: Command<"closeMarket"> = { type: "closeMarket", marketId: "m1" };

function openMarket() {
  const world = openWorld();
  world.run(marketOf());
  return world;
}

describe("closeMarket", () => {
  test("a closing is on record once, with the closing time, from the very millisecond of it", () => {
    const world = openMarket();
    world.now = CLOSE - 1;
    expect(world.decide(close)).toMatchObject({ result: { recorded: false }, draft: { audit: [] } });
    world.now = CLOSE;
    const { result, draft } = world.run(close);
    expect(result).toEqual({ recorded: true });
    expect(draft.audit).toEqual([
      { type: "market.closed", payload: { marketId: "m1", closeAt: new Date(CLOSE).toISOString() } },
    ]);
    expect(draft.transfers).toEqual([]);
    const again = world.run(close);
    expect(again.result).toEqual({ recorded: false });
    expect([...again.draft.writes()]).toEqual([]);
  });

  test("a suspended market closes too, and stays suspended beneath", () => {
    const world = openMarket();
    world.run({ type: "suspendMarket", marketId: "m1" });
    world.now = CLOSE;
    expect(world.run(close).result).toEqual({ recorded: true });
    expect(world.get("marketState", "m1")).toMatchObject({ status: "suspended", closingRecorded: true });
  });

  test("a market settled before never closes, and one that closed can be settled", () => {
    const settledEarly = openMarket();
    settledEarly.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
    settledEarly.now = CLOSE;
    expect(settledEarly.run(close).draft.audit).toEqual([]);

    const closed = openMarket();
    closed.now = CLOSE;
    closed.run(close);
    expect(closed.run({ type: "settleMarket", marketId: "m1", outcome: "no" }).result.outcome).toBe("no");
    expect(closed.run(close).draft.audit).toEqual([]);
  });

  test("a market that does not exist is refused", () => {
    expect(openMarket().refusal({ ...close, marketId: "m2" })).toBe("MARKET_NOT_FOUND");
  });
});
