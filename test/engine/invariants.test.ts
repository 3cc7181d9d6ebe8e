import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import type { Command } from "../../src/engine/commands.ts";
import { anyKind, anySide, magnitude, runs } from "../domain/random.ts";
import { exposureOf, marketOf, openWorld, saleOf, tradeOf, usd, type World } from "./world.ts";

const anyMarketId = fc.constantFrom("m1", "m2", "m3");
const anyTrader = fc.constantFrom("ann", "bob", "cat");

/** Few names and many collisions: commands meet markets and traders in every state. */
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({ marketId: anyMarketId, traderId: anyTrader, side: anySide, amountMicro: magnitude(0, 10) })
      .map(tradeOf),
  },
  {
    weight: 5,
    arbitrary: fc
      .record({ marketId: anyMarketId, traderId: anyTrader, side: anySide, sharesMicro: magnitude(0, 9) })
      .map(saleOf),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("requestWithdrawal" as const),
      id: fc.integer({ min: 0, max: 4 }).map((number) => `w${number}`),
      traderId: anyTrader,
      amountMicro: magnitude(0, 9),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("decideWithdrawal" as const),
      id: fc.integer({ min: 0, max: 4 }).map((number) => `w${number}`),
      traderId: anyTrader,
      approve: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        id: anyMarketId,
        kind: anyKind,
        p0Ppm: fc.integer({ min: 1000, max: 999_000 }),
        liquidityMicro: magnitude(6, 10),
      })
      .map(marketOf),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("recordDeposit" as const),
      provider: fc.constantFrom("payments", "stripe"),
      traderId: anyTrader,
      amountMicro: magnitude(4, 10),
      reference: fc.integer({ min: 0, max: 20 }).map(String),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("suspendMarket" as const), marketId: anyMarketId }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("resumeMarket" as const), marketId: anyMarketId }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("settleMarket" as const), marketId: anyMarketId, outcome: anySide }),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 0, max: 1000 })
      .map((feeBps) => ({ type: "updatePolicy" as const, patch: { feeBps } })),
  },
);

/** A command, and how much time passes before it; now and then a market's closing time with it. */
const anyStep = fc.record({
  command: anyCommand,
  wait: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 300_000 })),
});

function held(world: World, marketId: string, side: string): bigint {
  return world
    .all("position")
    .filter(([, position]) => position.marketId === marketId && position.side === side)
    .reduce((sum, [, { sharesMicro }]) => sum + sharesMicro, 0n);
}

function checkLedger(world: World): void {
  for (const [id, market] of world.all("market")) {
    const marketState = world.get("marketState", id);
    if (!marketState) throw new Error(`${id} has no marketState`);
    const escrow = world.balance(`escrow:${id}`);
    if (marketState.status === "settled") expect(escrow).toBe(0n);
    else {
      expect(marketState.yesMicro + market.houseYesMicro + held(world, id, "yes")).toBe(escrow);
      expect(marketState.noMicro + market.houseNoMicro + held(world, id, "no")).toBe(escrow);
    }
  }
  for (const traderId of ["ann", "bob", "cat"]) {
    const pending = world.all("withdrawal").filter(([, row]) => row.traderId === traderId && row.status === "pending");
    expect(world.balance(`pending:${traderId}`)).toBe(pending.reduce((sum, [, row]) => sum + row.amountMicro, 0n));
  }
  for (const [, { sharesMicro, costMicro }] of world.all("position")) {
    expect(sharesMicro).toBeGreaterThanOrEqual(0n);
    expect(costMicro).toBeGreaterThanOrEqual(0n);
    if (sharesMicro === 0n) expect(costMicro).toBe(0n);
  }
  const accounts = world.all("account");
  expect(accounts.reduce((sum, [, { balanceMicro }]) => sum + balanceMicro, 0n)).toBe(0n);
  for (const [id, { balanceMicro }] of accounts)
    if (!id.startsWith("external:")) expect(balanceMicro).toBeGreaterThanOrEqual(0n);
  for (const [traderId, portfolio] of world.all("portfolio"))
    expect(portfolio.exposureMicro).toBe(exposureOf(world, traderId));
}

/** Two markets and some money, so that most commands find something to do. */
function startedWorld(): World {
  const world = openWorld({ feeBps: 37 });
  world.run(marketOf({ id: "m1", kind: "cpmm", p0Ppm: 500_000 }));
  world.run(marketOf({ id: "m2", kind: "lmsr", p0Ppm: 123_456 }));
  for (const traderId of ["ann", "bob"])
    world.run({ type: "recordDeposit", provider: "payments", traderId, amountMicro: usd(5000), reference: traderId });
  return world;
}

/** Runs the command if it is not refused, and checks that its transfers say what its new balances say. */
function runAndCompare(world: World, command: Command): boolean {
  const before = new Map(world.all("account").map(([id, { balanceMicro }]) => [id, balanceMicro]));
  const expected = new Map(before);
  try {
    for (const { debit, credit, amountMicro } of world.run(command).draft.transfers) {
      expected.set(debit, (expected.get(debit) ?? 0n) - amountMicro);
      expected.set(credit, (expected.get(credit) ?? 0n) + amountMicro);
    }
  } catch (fault) {
    // A refusal is an answer; anything else is a bug that the property has found.
    if (!(fault instanceof Fault)) throw fault;
    return false;
  }
  expect(new Map(world.all("account").map(([id, { balanceMicro }]) => [id, balanceMicro]))).toEqual(expected);
  return true;
}

test("after every command: escrow = YES = NO outstanding, all accounts add up to zero, exposures are sums of costs", () => {
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(anyStep, { minLength: 20, maxLength: 80, size: "max" }), (steps) => {
      const world = startedWorld();
      for (const { command, wait } of steps) {
        world.wait(wait);
        // Ids are fresh in life: a second market of the same name cannot be asked for.
        if (command.type === "createMarket" && world.get("market", command.id)) continue;
        if (command.type === "requestWithdrawal" && world.get("withdrawal", command.id)) continue;
        // The service looks the owner up before it asks.
        if (command.type === "decideWithdrawal") {
          const owner = world.get("withdrawal", command.id)?.traderId;
          if (owner !== undefined && owner !== command.traderId) continue;
        }
        if (runAndCompare(world, command)) accepted += 1;
        checkLedger(world);
      }
    }),
    runs(400),
  );
  expect(accepted).toBeGreaterThan(5000);
});
