import { describe, expect, test } from "vitest";
import type { Side } from "../../src/domain/market/market.ts";
import { positionKey } from "../../src/engine/rows.ts";
import { CLOSE, marketOf, openWorld, tradeOf, usd, type World } from "./world.ts";

/** Ann on both sides, Bob on NO, in a market of a thousand dollars. */
function tradedWorld(kind: "cpmm" | "lmsr"): World {
  const world = openWorld({ feeBps: 100 });
  world.run(marketOf({ kind, p0Ppm: 400_000 }));
  for (const traderId of ["ann", "bob"]) world.fund(traderId, 500);
  world.run(tradeOf({ traderId: "ann", side: "yes", amountMicro: usd(120.333_333) }));
  world.run(tradeOf({ traderId: "bob", side: "no", amountMicro: usd(75.000_007) }));
  world.run(tradeOf({ traderId: "ann", side: "no", amountMicro: usd(10) }));
  return world;
}

const position = (world: World, traderId: string, side: Side) =>
  world.get("position", positionKey(traderId, "m1", side));

describe.each(["cpmm", "lmsr"] as const)("settlement of a %s market", (kind) => {
  test.each(["yes", "no"] as const)(
    "%s wins: a dollar per winning share, the rest to the treasury, escrow to zero",
    (outcome) => {
      const world = tradedWorld(kind);
      const before = { ann: world.balance("wallet:ann"), bob: world.balance("wallet:bob") };
      const treasury = world.balance("treasury");
      const escrow = world.balance("escrow:m1");
      const { result } = world.run({ type: "settleMarket", marketId: "m1", outcome });

      const paidAnn = position(world, "ann", outcome)?.sharesMicro ?? 0n;
      const paidBob = position(world, "bob", outcome)?.sharesMicro ?? 0n;
      expect(world.balance("wallet:ann") - before.ann).toBe(paidAnn);
      expect(world.balance("wallet:bob") - before.bob).toBe(paidBob);
      expect(world.balance("treasury") - treasury).toBe(escrow - paidAnn - paidBob);
      expect(world.balance("escrow:m1")).toBe(0n);
      expect(result).toMatchObject({ id: "m1", outcome, settledAt: world.now, payouts: outcome === "yes" ? 1 : 2 });
    },
  );

  test("the house loses at most F, and the record says what it won or lost", () => {
    const world = tradedWorld(kind);
    const { draft } = world.decide({ type: "settleMarket", marketId: "m1", outcome: "yes" });
    const entry = draft.audit.find(({ type }) => type === "market.settled");
    const { paid, returned, houseResult } = { ...entry?.payload };
    expect(usd(Number(paid)) + usd(Number(returned))).toBe(world.balance("escrow:m1"));
    expect(usd(Number(houseResult))).toBe(usd(Number(returned)) - usd(1000));
    expect(Number(houseResult)).toBeGreaterThanOrEqual(-1000);
  });

  test("a market settles once: the second attempt, either way, is refused and pays nothing", () => {
    const world = tradedWorld(kind);
    world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
    expect(world.refusal({ type: "settleMarket", marketId: "m1", outcome: "yes" })).toBe("MARKET_SETTLED");
    expect(world.refusal({ type: "settleMarket", marketId: "m1", outcome: "no" })).toBe("MARKET_SETTLED");
  });

  test("positions stay as history and leave the exposure, so the cap is free again", () => {
    const world = tradedWorld(kind);
    expect(world.get("portfolio", "ann")?.exposureMicro).toBe(usd(130.333_333));
    world.run({ type: "settleMarket", marketId: "m1", outcome: "no" });
    expect(world.get("portfolio", "ann")).toEqual({ exposureMicro: 0n });
    expect(position(world, "ann", "yes")?.costMicro).toBe(usd(120.333_333));
  });
});

test("a market without trades returns the whole fund", () => {
  const world = openWorld();
  world.run(marketOf({ p0Ppm: 123_456 }));
  const { result } = world.run({ type: "settleMarket", marketId: "m1", outcome: "no" });
  expect(result.payouts).toBe(0);
  expect(world.balance("treasury")).toBe(usd(100_000));
});

test("a market without winners pays nothing out and keeps the stakes", () => {
  const world = openWorld();
  world.run(marketOf());
  world.fund("ann", 50);
  world.run(tradeOf({ side: "yes", amountMicro: usd(50) }));
  const { result } = world.run({ type: "settleMarket", marketId: "m1", outcome: "no" });
  expect(result.payouts).toBe(0);
  expect(world.balance("treasury")).toBe(usd(100_050));
  expect(world.balance("wallet:ann")).toBe(0n);
});

test("a settlement after closing time pays like one before", () => {
  const world = tradedWorld("cpmm");
  world.now = CLOSE + 1;
  world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
  expect(world.balance("escrow:m1")).toBe(0n);
});

test("an escrow that does not cover exactly the outstanding shares is our bug and settles nothing", () => {
  const world = tradedWorld("cpmm");
  const escrow = world.get("account", "escrow:m1");
  if (escrow) world.put("account", "escrow:m1", { ...escrow, balanceMicro: escrow.balanceMicro + 1n });
  expect(() => world.decide({ type: "settleMarket", marketId: "m1", outcome: "yes" })).toThrow("Invariant broken");
});
