import * as fc from "fast-check";
import type { Command } from "../../src/engine/commands.ts";
import { anyKind, anySide, magnitude } from "../domain/random.ts";
import { marketOf, openWorld, saleOf, tradeOf, usd, type World } from "./world.ts";

const anyMarketId = fc.constantFrom("m1", "m2", "m3");
export const anyTrader = fc.constantFrom("ann", "bob", "cat");

const anyFraction = fc.constantFrom("0.000001" as const, "0.4" as const, "0.666667" as const);

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
    arbitrary: fc.record({
      ...{ type: fc.constant("clarifyMarket" as const), id: fc.uuid(), marketId: anyMarketId },
      text: fc.string({ minLength: 1 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("settleMarket" as const),
      marketId: anyMarketId,
      outcome: fc.oneof(anySide, anyFraction),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("voidMarket" as const),
      marketId: anyMarketId,
      reason: fc.constant("called off"),
      maxTreasuryMicro: fc.oneof(fc.constant(0n), magnitude(6, 12)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("correctMarket" as const),
      marketId: anyMarketId,
      outcome: fc.oneof(anySide, anyFraction, fc.constant("void" as const)),
      reason: fc.constant("the final report"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 0, max: 1000 })
      .map((feeBps) => ({ type: "updatePolicy" as const, patch: { feeBps } })),
  },
);

/** A command, and how much time passes before it; now and then a market's closing time with it. */
export const anyStep = fc.record({
  command: anyCommand,
  wait: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 300_000 })),
});

/** Two markets and some money, so that most commands find something to do. */
export function startedWorld(): World {
  const world = openWorld({ feeBps: 37 }, { resolution: { correctionHours: 1 } });
  world.run(marketOf({ id: "m1", kind: "cpmm", p0Ppm: 500_000 }));
  world.run(marketOf({ id: "m2", kind: "lmsr", p0Ppm: 123_456 }));
  for (const traderId of ["ann", "bob"])
    world.run({ type: "recordDeposit", provider: "payments", traderId, amountMicro: usd(5000), reference: traderId });
  return world;
}

/** Whether the services would ask for the command: they make fresh ids, and look the owner of a withdrawal up. */
export function isAsked(world: World, command: Command): boolean {
  if (command.type === "createMarket") return !world.get("market", command.id);
  if (command.type === "requestWithdrawal") return !world.get("withdrawal", command.id);
  if (command.type !== "decideWithdrawal") return true;
  const owner = world.get("withdrawal", command.id)?.traderId;
  return owner === undefined || owner === command.traderId;
}
