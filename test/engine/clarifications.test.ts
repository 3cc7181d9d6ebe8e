import { describe, expect, test } from "vitest";
import type { Command } from "../../src/engine/commands.ts";
import { CLOSE, marketOf, openWorld } from "./world.ts";

const clarify = (id: string, text = "Drizzle counts."): Command<"clarifyMarket"> => ({
  ...{ type: "clarifyMarket", marketId: "m1", id, text },
});

function openMarket() {
  const world = openWorld();
  world.run(marketOf());
  return world;
}

describe("clarifyMarket", () => {
  test("texts are added in order with their time, and neither the terms nor an earlier text changes", () => {
    const world = openMarket();
    const terms = world.get("market", "m1");
    const { result, draft } = world.run(clarify("c1"));
    expect(result).toEqual({ id: "c1", marketId: "m1", text: "Drizzle counts.", at: world.now });
    expect(draft.audit).toEqual([
      { type: "market.clarified", payload: { marketId: "m1", id: "c1", text: "Drizzle counts." } },
    ]);
    expect(draft.transfers).toEqual([]);
    const [first] = world.get("clarifications", "m1") ?? [];
    world.wait(1000);
    world.run(clarify("c2", "Hail does not."));
    expect(world.get("clarifications", "m1")).toEqual([
      { marketId: "m1", position: 1, id: "c1", text: "Drizzle counts.", at: world.now - 1000 },
      { marketId: "m1", position: 2, id: "c2", text: "Hail does not.", at: world.now },
    ]);
    expect(world.get("clarification", "c1")).toEqual(first);
    expect(world.get("market", "m1")).toEqual(terms);
  });

  test("a market is clarified while it is open, suspended or closed, and never once it is settled", () => {
    const world = openMarket();
    world.run({ type: "suspendMarket", marketId: "m1" });
    world.run(clarify("c1"));
    world.now = CLOSE;
    world.run(clarify("c2"));
    world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
    expect(world.refusal(clarify("c3"))).toBe("MARKET_SETTLED");
    expect(world.get("clarifications", "m1")).toHaveLength(2);
  });

  test("the twentieth text is the last; a settled market says that first", () => {
    const world = openMarket();
    for (let index = 1; index <= 20; index++) world.run(clarify(`c${index}`));
    expect(world.refusal(clarify("c21"))).toBe("LIMIT_REACHED");
    world.run({ type: "settleMarket", marketId: "m1", outcome: "no" });
    expect(world.refusal(clarify("c21"))).toBe("MARKET_SETTLED");
  });

  test("a market that does not exist is refused", () => {
    expect(openMarket().refusal({ ...clarify("c1"), marketId: "m2" })).toBe("MARKET_NOT_FOUND");
  });
});
