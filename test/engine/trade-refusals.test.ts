import { beforeEach, describe, expect, test } from "vitest";
import { operations } from "../../src/contract/operations.ts";
import { CLOSE, marketOf, NOW, openWorld, tradeOf, usd, type World } from "./world.ts";

/** One reason to refuse a trade, in the order in which refusals are documented. */
interface Obstacle {
  code: string;
  what: string;
  put: (world: World) => void;
}

const OBSTACLES: Obstacle[] = [
  { code: "MARKET_NOT_FOUND", what: "no such market", put: () => {} },
  { code: "MARKET_SETTLED", what: "the market is settled", put: (world) => settle(world) },
  { code: "MARKET_CLOSED", what: "the market is past its closing time", put: (world) => world.wait(CLOSE - NOW) },
  { code: "MARKET_SUSPENDED", what: "the market is suspended", put: (world) => suspend(world) },
  { code: "KYC_REQUIRED", what: "KYC was not passed", put: (world) => world.trader("ann", { kyc: "unverified" }) },
  {
    code: "ACCOUNT_RESTRICTED",
    what: "the user is restricted",
    put: (world) => world.trader("ann", { restricted: true }),
  },
  {
    code: "JURISDICTION_BLOCKED",
    what: "the place is blocked",
    put: (world) => world.trader("ann", { jurisdiction: "US" }),
  },
  {
    code: "SUITABILITY_REQUIRED",
    what: "no assessment",
    put: (world) => world.trader("ann", { suitabilityScore: null }),
  },
  { code: "MAX_TRADE_EXCEEDED", what: "over the limit per trade", put: (world) => world.policy({ maxTradeUsd: 9 }) },
  { code: "EXPOSURE_EXCEEDED", what: "over the exposure cap", put: (world) => world.policy({ maxUserExposureUsd: 9 }) },
  { code: "INSUFFICIENT_FUNDS", what: "not enough money", put: (world) => world.fund("ann", 9) },
  { code: "PRICE_BOUND", what: "the price would leave its bounds", put: (world) => makeShallow(world) },
  { code: "COST_EXCEEDS_PAYOUT", what: "with the fee it costs more than it pays", put: (world) => makeDear(world) },
];

const TRADE = tradeOf();

let world: World;

beforeEach(() => {
  world = openWorld({ suitabilityRequired: true, jurisdictions: { allowed: [], blocked: ["US"] } });
  const tenant = world.get("tenant", "");
  if (tenant) world.put("tenant", "", { ...tenant, kycRequired: true });
  world.run(marketOf());
  world.trader("ann", { jurisdiction: "AE", suitabilityScore: 20 });
  world.fund("ann", 100);
});

function suspend(state: World): void {
  const marketState = state.get("marketState", "m1");
  if (marketState) state.put("marketState", "m1", { ...marketState, status: "suspended" });
}

function settle(state: World): void {
  const marketState = state.get("marketState", "m1");
  if (marketState)
    state.put("marketState", "m1", { ...marketState, status: "settled", outcome: "yes", settledAt: NOW });
}

/** Next to the bound: ten dollars more move the price past it. */
function makeShallow(state: World): void {
  const marketState = state.get("marketState", "m1");
  if (marketState) state.put("marketState", "m1", { ...marketState, yesMicro: usd(1), noMicro: usd(995) });
}

/** At 0.95 a tenth of the amount in fees leaves less than a share for each dollar. */
function makeDear(state: World): void {
  state.policy({ feeBps: 1000 });
  const marketState = state.get("marketState", "m1");
  if (marketState) state.put("marketState", "m1", { ...marketState, yesMicro: usd(50), noMicro: usd(950) });
}

function refusalWith(obstacles: Obstacle[]): string {
  // A market that does not exist cannot be settled as well, so that obstacle is another market's name.
  const missing = obstacles.some(({ code }) => code === "MARKET_NOT_FOUND");
  for (const { put } of obstacles) put(world);
  return world.refusal(missing ? { ...TRADE, marketId: "m0" } : TRADE);
}

describe("refusals of a trade", () => {
  test("with nothing in the way it is accepted", () => {
    expect(refusalWith([])).toBe("accepted");
  });

  test("stands once: in the contract", () => {
    const codes = OBSTACLES.map(({ code }) => code);
    expect(codes).toEqual(operations.placeTrade.refusals.filter((code) => codes.includes(code)));
  });

  test.each(OBSTACLES)("$code alone: $what", (obstacle) => {
    expect(refusalWith([obstacle])).toBe(obstacle.code);
  });

  test.each(OBSTACLES.map((obstacle, index) => ({ ...obstacle, later: OBSTACLES.slice(index + 1) })))(
    "$code comes before everything that is documented after it",
    ({ code, what, put, later }) => {
      expect(refusalWith([...later, { code, what, put }])).toBe(code);
    },
  );

  test("a tenant that was never applied trades nothing", () => {
    const tenantless = openWorld();
    tenantless.run(marketOf());
    const read = tenantless.get.bind(tenantless);
    tenantless.get = (table, key) => (table === "tenant" ? undefined : read(table, key));
    expect(tenantless.refusal(tradeOf())).toBe("REFUSED");
  });

  test("an amount that the fee eats up is AMOUNT_TOO_SMALL, after the funds were found", () => {
    world.policy({ feeBps: 1000 });
    expect(world.refusal(tradeOf({ amountMicro: 1n }))).toBe("AMOUNT_TOO_SMALL");
    world.fund("ann", 0);
    expect(world.refusal(tradeOf({ amountMicro: 1n }))).toBe("INSUFFICIENT_FUNDS");
  });

  test("a purchase that cannot win is told before the caller's own bounds, in the agreed words", () => {
    makeDear(world);
    for (const bound of [{ maxAvgPrice: 0.1 }, { minSharesMicro: usd(1000) }])
      expect(world.refusal(tradeOf(bound))).toBe("COST_EXCEEDS_PAYOUT");
    expect(() => world.decide(tradeOf())).toThrow("With the fee this costs more than it can pay");
  });

  test("a purchase passes whose shares pay exactly what it costs, and not one micro-dollar less", () => {
    world.policy({ feeBps: 1000 });
    const refusals = [];
    // Two micro-dollars, one of them the fee: at 0.4 the other buys two micro-shares, at 0.6 only one.
    for (const [yesMicro, noMicro] of [
      [usd(600), usd(400)],
      [usd(400), usd(600)],
    ] as const) {
      const marketState = world.get("marketState", "m1");
      if (marketState) world.put("marketState", "m1", { ...marketState, yesMicro, noMicro });
      refusals.push(world.refusal(tradeOf({ amountMicro: 2n })));
    }
    expect(refusals).toEqual(["accepted", "COST_EXCEEDS_PAYOUT"]);
  });
});
