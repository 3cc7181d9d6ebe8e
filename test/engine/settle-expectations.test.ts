import { expect, test } from "vitest";
import { positionKey } from "../../src/engine/rows.ts";
import { marketOf, openWorld, tradeOf, usd } from "./world.ts";

test("a settlement that would pay otherwise than expected pays nothing; one that is met pays", () => {
  const world = openWorld({ feeBps: 100 });
  world.run(marketOf({ kind: "cpmm" }));
  for (const traderId of ["ann", "bob"]) {
    world.fund(traderId, 500);
    world.run(tradeOf({ traderId, side: "yes", amountMicro: usd(20) }));
  }
  const totalMicro = ["ann", "bob"].reduce(
    (total, trader) => total + (world.get("position", positionKey(trader, "m1", "yes"))?.sharesMicro ?? 0n),
    0n,
  );
  const settle = { type: "settleMarket", marketId: "m1", outcome: "yes" } as const;
  for (const expected of [{ payouts: 3 }, { totalMicro: totalMicro - 1n }, { payouts: 2, totalMicro: 0n }])
    expect(world.refusal({ ...settle, expect: expected })).toBe("EXPECTATION_NOT_MET");
  expect(() => world.decide({ ...settle, expect: { payouts: 3 } })).toThrow(
    /would make 2 payouts.*not the expected 3 payouts: nothing/,
  );
  expect(world.refusal({ ...settle, outcome: "no", expect: { payouts: 0, totalMicro: 0n } })).toBe("accepted");
  expect(world.run({ ...settle, expect: { payouts: 2, totalMicro } }).result.payouts).toBe(2);
});
