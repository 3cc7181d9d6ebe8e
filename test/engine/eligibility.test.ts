import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_DAY } from "../../src/domain/market/running-sums.ts";
import { DEFAULT_POLICY, type Override } from "../../src/domain/policy/policy.ts";
import { KYC_STATES } from "../../src/domain/trader.ts";
import { type Eligibility, eligibilityOf, type Reason } from "../../src/engine/admission/eligibility.ts";
import type { Command } from "../../src/engine/commands.ts";
import { positionKey, SINGLE } from "../../src/engine/rows.ts";
import { runs } from "../domain/random.ts";
import { CLOSE, marketOf, NOW, openWorld, saleOf, tradeOf, usd, type World } from "./world.ts";

const anyPlaces = fc.constantFrom<string[]>([], ["US"], ["AE", "GB"]);
const anyShares = fc.constantFrom(0n, 0n, 1n, usd(30));
const HOUR = 3_600_000;
const anyOverride = fc.oneof(
  fc.record({ field: fc.constant("suitabilityRequired" as const), value: fc.boolean() }),
  fc.record({ field: fc.constant("maxUserExposureUsd" as const), value: fc.constantFrom(0.000001, 5000) }),
  fc.record({ field: fc.constant("jurisdictions.blocked" as const), value: anyPlaces }),
);

/** Every fact that a rule reads, each absent or in the way about as often as not. */
const anyState = fc.record({
  status: fc.constantFrom("open" as const, "open" as const, "suspended" as const, "settled" as const),
  elapsed: fc.constantFrom(0, 0, CLOSE - NOW),
  kycRequired: fc.boolean(),
  feeBps: fc.constantFrom(0, 100, 1000),
  maxUserExposureUsd: fc.constantFrom(0.000001, 30, 10_000),
  maxTradeUsd: fc.constantFrom(0.000001, 500),
  allowed: anyPlaces,
  blocked: anyPlaces,
  suitabilityRequired: fc.boolean(),
  blockBelow: fc.constantFrom(0, 10),
  overrides: fc.array(
    fc
      .tuple(anyOverride, fc.constantFrom(-HOUR, HOUR, 2 * HOUR))
      .map(([override, after]): Override => ({ ...override, until: NOW + after })),
    { maxLength: 2 },
  ),
  trader: fc.option(
    fc.record({
      kyc: fc.constantFrom(...KYC_STATES),
      restricted: fc.boolean(),
      jurisdiction: fc.constantFrom(null, "AE", "US-NY", "XX"),
      suitabilityScore: fc.constantFrom(null, 3, 12, 20),
    }),
    { nil: undefined },
  ),
  claimedJurisdiction: fc.constantFrom(undefined, "GB", "US", "nowhere"),
  balanceMicro: fc.constantFrom(0n, 1n, usd(100)),
  yesShares: anyShares,
  noShares: anyShares,
});
type State = typeof anyState extends fc.Arbitrary<infer Value> ? Value : never;

function worldOf(state: State): World {
  const { kycRequired, overrides, allowed, blocked, blockBelow, status, trader } = state;
  const { feeBps, maxUserExposureUsd, maxTradeUsd, suitabilityRequired } = state;
  const suitabilityThresholds = { ...DEFAULT_POLICY.suitabilityThresholds, blockBelow };
  const limits = { feeBps, maxUserExposureUsd, maxTradeUsd, suitabilityRequired, suitabilityThresholds };
  const world = openWorld({ ...limits, jurisdictions: { allowed, blocked } });
  const tenant = world.get("tenant", SINGLE);
  if (tenant) world.put("tenant", SINGLE, { ...tenant, kycRequired, overrides });
  world.run(marketOf());
  setStatus(world, status);
  if (trader) world.trader("ann", trader);
  world.put("account", "wallet:ann", { id: "wallet:ann", balanceMicro: state.balanceMicro, version: 1 });
  hold(world, "yes", state.yesShares);
  hold(world, "no", state.noShares);
  const isOpen = status !== "settled";
  world.put("portfolio", "ann", { exposureMicro: isOpen ? state.yesShares + state.noShares : 0n });
  world.wait(state.elapsed);
  return world;
}

function setStatus(world: World, status: State["status"]): void {
  const row = world.get("marketState", "m1");
  if (row) world.put("marketState", "m1", { ...row, status, outcome: status === "settled" ? "yes" : null });
}

function hold(world: World, side: "yes" | "no", sharesMicro: bigint): void {
  const owner = { marketId: "m1", traderId: "ann", side };
  const row = { ...owner, sharesMicro, costMicro: sharesMicro, version: 1, ...NO_DAY };
  if (sharesMicro > 0n) world.put("position", positionKey("ann", "m1", side), row);
}

const asked = (world: World, { claimedJurisdiction }: Pick<State, "claimedJurisdiction">, marketId?: string) =>
  eligibilityOf(world, { traderId: "ann", marketId, claimedJurisdiction }, world.now);
const codes = (reasons: Reason[]) => reasons.map(({ refusal }) => refusal.code);

/** The errors that depend on the amount and the price, so no answer about every amount can name them. */
const OF_THE_PRICE = ["accepted", "AMOUNT_TOO_SMALL", "PRICE_BOUND", "COST_EXCEEDS_PAYOUT"];

/** Removes what a refusal names, and nothing else. */
const CLEARED: Record<string, (world: World) => void> = {
  MARKET_SETTLED: (world) => reopen(world),
  MARKET_SUSPENDED: (world) => reopen(world),
  MARKET_CLOSED: (world) => reopen(world),
  KYC_REQUIRED: (world) => world.trader("ann", { ...world.get("trader", "ann"), kyc: "verified" }),
  ACCOUNT_RESTRICTED: (world) => world.trader("ann", { restricted: false }),
  JURISDICTION_UNKNOWN: (world) => withoutPlaces(world),
  JURISDICTION_BLOCKED: (world) => withoutPlaces(world),
  SUITABILITY_REQUIRED: (world) => {
    withoutOverrides(world, "suitabilityRequired");
    world.policy({
      suitabilityRequired: false,
      suitabilityThresholds: { ...DEFAULT_POLICY.suitabilityThresholds, blockBelow: 0 },
    });
  },
  EXPOSURE_EXCEEDED: (world) => world.put("portfolio", "ann", { exposureMicro: -usd(100) }),
  INSUFFICIENT_FUNDS: (world) => world.fund("ann", 100),
  INSUFFICIENT_SHARES: (world) => hold(world, "yes", usd(30)),
};

function reopen(world: World): void {
  const market = world.get("market", "m1");
  if (market) world.put("market", "m1", { ...market, closeAt: world.now + HOUR });
  setStatus(world, "open");
}

function withoutPlaces(world: World): void {
  withoutOverrides(world, "jurisdictions.blocked");
  world.policy({ jurisdictions: { allowed: [], blocked: [] } });
}

function withoutOverrides(world: World, field: Override["field"]): void {
  const tenant = world.get("tenant", SINGLE);
  const overrides = tenant?.overrides.filter((each) => each.field !== field);
  if (tenant && overrides) world.put("tenant", SINGLE, { ...tenant, overrides });
}

/** The refusals that the action meets one after the other, when each is cleared. */
function met(world: World, attempt: Command): string[] {
  const refusals: string[] = [];
  for (;;) {
    const refusal = world.refusal(attempt);
    const clear = CLEARED[refusal];
    if (!clear) return refusals;
    refusals.push(refusal);
    clear(world);
    expect(refusals.length).toBeLessThan(12);
  }
}

/** Holds the answer against the action itself: its first refusal, and all of them in order. */
function agrees(state: State, answer: (eligibility: Eligibility) => Reason[], attempts: Command[], marketId?: string) {
  const reasons = codes(answer(asked(worldOf(state), state, marketId)));
  for (const attempt of attempts) {
    const refusal = worldOf(state).refusal(attempt);
    if (reasons.length > 0) expect(refusal).toBe(reasons[0]);
    else expect(OF_THE_PRICE).toContain(refusal);
    expect(met(worldOf(state), attempt)).toEqual(reasons);
  }
}

describe("over random states, the answer is what the action itself would meet:", () => {
  test("a purchase of either side", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const { claimedJurisdiction } = state;
        const buy = (side: "yes" | "no") => tradeOf({ side, amountMicro: 1n, claimedJurisdiction });
        agrees(state, ({ trade }) => trade, [buy("yes"), buy("no")], "m1");
      }),
      runs(400),
    );
  });

  test("a sale of the side that is held", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const { claimedJurisdiction, yesShares, noShares } = state;
        const side = noShares > yesShares ? "no" : "yes";
        agrees(state, ({ sell }) => sell, [saleOf({ side, sharesMicro: 1n, claimedJurisdiction })], "m1");
      }),
      runs(400),
    );
  });

  test("a withdrawal, and a deposit, which nothing refuses", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const withdrawal: Command = { type: "requestWithdrawal", id: "w1", traderId: "ann", amountMicro: 1n };
        agrees(state, ({ withdraw }) => withdraw, [withdrawal]);
        const common = { provider: "payments", traderId: "ann", reference: "r1" };
        agrees(state, ({ deposit }) => deposit, [{ type: "recordDeposit", ...common, amountMicro: 1n }]);
      }),
      runs(200),
    );
  });

  test("without a market its reasons are those of every market, in the same order", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const world = worldOf(state);
        const [everywhere, here] = [asked(world, state), asked(world, state, "m1")];
        const others = codes(here.trade).filter((code) => !code.startsWith("MARKET_"));
        expect(codes(everywhere.trade)).toEqual(others);
        if (state.status !== "settled")
          expect(codes(everywhere.sell)).toEqual(codes(here.sell).filter((code) => !code.startsWith("MARKET_")));
        expect([everywhere.withdraw, everywhere.limits]).toEqual([here.withdraw, here.limits]);
      }),
      runs(200),
    );
  });

  test("`until` is the instant from which the reason no longer stands", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const world = worldOf(state);
        const { trade, sell, withdraw } = asked(world, state);
        expect(withdraw.map(({ until }) => until)).toEqual(withdraw.map(() => null));
        for (const { refusal, until } of [...trade, ...sell]) {
          if (until === null) continue;
          expect(until).toBeGreaterThan(world.now);
          const before = world.now;
          world.now = until - 1;
          expect(codes(asked(world, state).trade.concat(asked(world, state).sell))).toContain(refusal.code);
          world.now = until;
          const after = asked(world, state);
          expect(codes(after.trade)).not.toContain(refusal.code);
          world.now = before;
        }
      }),
      runs(400),
    );
  });
});

describe("the reasons of one user", () => {
  test("a missing country is unknown, never blocked, and the identity check names it", () => {
    const world = openWorld({ jurisdictions: { allowed: [], blocked: ["US"] } });
    world.fund("ann", 100);
    const [reason, ...others] = asked(world, { claimedJurisdiction: undefined }).trade;
    expect(others).toEqual([]);
    expect(reason).toMatchObject({ refusal: { code: "JURISDICTION_UNKNOWN", status: 403 }, until: null });
  });

  test("a block that an operator set for an hour ends when the hour ends", () => {
    const world = openWorld();
    world.fund("ann", 100);
    world.trader("ann", { jurisdiction: "US" });
    world.run({ type: "updatePolicy", patch: { jurisdictions: { blocked: ["US"] } }, ttlMs: HOUR });
    const { trade } = asked(world, { claimedJurisdiction: undefined });
    expect(trade).toMatchObject([{ refusal: { code: "JURISDICTION_BLOCKED" }, until: NOW + HOUR }]);
    // The permanent list blocks it too, so the end of the override changes nothing.
    world.policy({ jurisdictions: { allowed: [], blocked: ["US"] } });
    expect(asked(world, { claimedJurisdiction: undefined }).trade[0]?.until).toBeNull();
  });

  test("limits state what is left: the cap less what the open positions cost, never below zero", () => {
    const world = openWorld({ maxTradeUsd: 50, maxUserExposureUsd: 80 });
    world.fund("ann", 100);
    world.run(marketOf());
    world.run(tradeOf({ amountMicro: usd(30) }));
    const limitsOf = () => asked(world, { claimedJurisdiction: undefined }).limits;
    const stated = { maxTradeMicro: usd(50), maxExposureMicro: usd(80), balanceMicro: usd(70) };
    expect(limitsOf()).toEqual({ ...stated, remainingMicro: usd(50) });
    world.policy({ maxUserExposureUsd: 20 });
    expect(limitsOf()).toEqual({ ...stated, maxExposureMicro: usd(20), remainingMicro: 0n });
  });

  test("an unknown market is not found, and an unknown user is judged as a new one", () => {
    const world = openWorld();
    expect(() => asked(world, { claimedJurisdiction: undefined }, "m0")).toThrow(
      expect.objectContaining({ code: "MARKET_NOT_FOUND" }),
    );
    const { trade, sell, deposit, withdraw } = asked(world, { claimedJurisdiction: undefined });
    expect([trade, sell, deposit, withdraw].map(codes)).toEqual([
      ["INSUFFICIENT_FUNDS"],
      ["INSUFFICIENT_SHARES"],
      [],
      ["INSUFFICIENT_FUNDS"],
    ]);
  });
});
