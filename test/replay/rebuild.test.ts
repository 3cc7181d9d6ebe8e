import * as fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../src/domain/audit/audit-link.ts";
import { Fault } from "../../src/domain/fault.ts";
import { DEFAULT_POLICY, type Policy } from "../../src/domain/policy/policy.ts";
import type { Command } from "../../src/engine/commands.ts";
import { SINGLE } from "../../src/engine/rows.ts";
import { loggedEntry } from "../../src/replay/logged-rows.ts";
import { type PlacedEntry, type ReplayTerms, replayWindow } from "../../src/replay/replay.ts";
import { anySide, runs } from "../domain/random.ts";
import { anyStep, isAsked, startedWorld } from "../engine/histories.ts";
import { configOf, marketOf, NOW, openWorld, saleOf, tradeOf, usd, World } from "../engine/world.ts";

async function* logOf({ log }: World): AsyncGenerator<PlacedEntry[]> {
  for (const [index, { type, payload, at, actor }] of log.entries()) {
    const entry = loggedEntry({
      type,
      actor,
      payload: JSON.parse(canonicalJson(payload)),
      ts: new Date(at).toISOString(),
    });
    if (entry) yield [{ ...entry, seq: BigInt(index + 1), hash: String(index) }];
  }
}

function termsOf(world: World, change: Partial<Policy> = {}): ReplayTerms {
  const { policy = DEFAULT_POLICY, kycRequired = false } = world.get("tenant", SINGLE) ?? {};
  return { policy: { ...policy, ...change }, kycRequired };
}

const replay = (world: World, change: Partial<Policy> = {}, from = 0) =>
  replayWindow(logOf(world), { from, to: world.now }, termsOf(world, change));

/** An apply that pays in just what its new markets take, or a little more. */
function applyOf({ markets, spareUsd }: { markets: number; spareUsd: number }, world: World): Command {
  const known = world.all("market").length;
  const liquidityMicro = usd(1000);
  return configOf({
    policy: world.get("tenant", SINGLE)
      ? {}
      : { ...DEFAULT_POLICY, feeBps: 37, maxTradeUsd: 1e6, maxUserExposureUsd: 1e6 },
    capitalMicro: (world.get("tenant", SINGLE)?.capitalMicro ?? 0n) + liquidityMicro * BigInt(markets) + usd(spareUsd),
    markets: Array.from({ length: markets }, (_, index) => {
      const fileKey = `key-${known + index}`;
      const state = index % 2 === 0 ? "open" : "suspended";
      return { ...marketOf({ id: `m${known + index + 1}`, kind: "lmsr" }), fileKey, liquidityMicro, state };
    }),
  });
}

/** One that most often finds a market and the money, so that histories have trades. */
const anyTrade = fc
  .record({
    marketId: fc.constantFrom("m1", "m2", "m3", "m4", "m5"),
    traderId: fc.constantFrom("ann", "bob"),
    side: anySide,
    dollars: fc.integer({ min: 1, max: 50 }),
    wait: fc.nat(60_000),
  })
  .map(({ dollars, wait, ...trade }) => ({ command: tradeOf({ ...trade, amountMicro: usd(dollars) }), wait }));

const anyApply = fc.record({ markets: fc.nat(2), spareUsd: fc.nat(20) });

/** A world whose first markets came with its capital, as those of a tenant folder do. */
function appliedWorld(): World {
  const world = new World();
  world.run(applyOf({ markets: 2, spareUsd: 0 }, world));
  for (const traderId of ["ann", "bob"])
    world.run({ type: "recordDeposit", provider: "payments", traderId, amountMicro: usd(5000), reference: traderId });
  return world;
}

/** What the house has beyond its capital: treasury, fees, and the money that opened markets which have not ended. */
function houseGain(world: World): number {
  const inMarkets = world
    .all("market")
    .filter(([id]) => world.get("marketState", id)?.status !== "settled")
    .reduce((sum, [, { fundMicro }]) => sum + fundMicro, 0n);
  const capitalMicro = world.get("tenant", SINGLE)?.capitalMicro ?? 0n;
  return Number(world.balance("treasury") + world.balance("fees") + inMarkets - capitalMicro) / 1e6;
}

test("under the policy that held, any part of any history comes to what it came to", async () => {
  let trades = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          { weight: 4, arbitrary: anyTrade },
          { weight: 4, arbitrary: anyStep },
          { weight: 1, arbitrary: anyApply },
        ),
        { minLength: 20, maxLength: 60, size: "max" },
      ),
      fc.nat(3),
      fc.boolean(),
      async (steps, part, isApplied) => {
        const world = isApplied ? appliedWorld() : startedWorld();
        for (const step of steps) {
          const { command, wait } = "command" in step ? step : { command: applyOf(step, world), wait: 0 };
          // Most of a history before the markets close.
          world.wait(Math.floor(wait / 8));
          if (command.type === "updatePolicy" || !isAsked(world, command)) continue;
          try {
            world.run(command);
          } catch (fault) {
            if (!(fault instanceof Fault)) throw fault;
          }
        }
        const found = await replay(world, {}, NOW + ((world.now - NOW) * part) / 4);
        if (part === 0) expect(found.recorded.houseResultUsd).toBe(houseGain(world));
        expect(found.proposed).toEqual(found.recorded);
        expect(found.refused).toEqual({ trades: 0, users: 0, byCode: [] });
        for (const { recorded, proposed } of found.byCategory) expect(proposed).toEqual(recorded);
        trades += found.recorded.trades;
      },
    ),
    runs(200),
  );
  expect(trades).toBeGreaterThan(500);
});

/** Ann and bob with a thousand dollars each, and a market of sports beside one of the weather. */
function sceneOf(policy: Partial<Policy> = {}): World {
  const world = openWorld(policy);
  world.run(marketOf({ id: "m1" }));
  world.run(marketOf({ id: "m2", category: "sports", kind: "lmsr" }));
  for (const traderId of ["ann", "bob"])
    world.run({ type: "recordDeposit", provider: "payments", traderId, amountMicro: usd(1000), reference: traderId });
  return world;
}

test("a trade over the proposed limit does not happen, nor does the sale of what it would have bought", async () => {
  const world = sceneOf();
  const { sharesMicro } = world.run(tradeOf({ amountMicro: usd(50) })).result;
  world.run(tradeOf({ traderId: "bob", marketId: "m2", amountMicro: usd(5) }));
  world.run(saleOf({ sharesMicro }));
  const { recorded, proposed, refused, byCategory } = await replay(world, { maxTradeUsd: 20 });
  expect(recorded).toMatchObject({ trades: 3, users: 2 });
  expect(proposed).toMatchObject({ trades: 1, users: 1, volumeUsd: 5 });
  expect(refused).toEqual({
    trades: 2,
    users: 1,
    byCode: [
      { code: "INSUFFICIENT_SHARES", trades: 1, users: 1 },
      { code: "MAX_TRADE_EXCEEDED", trades: 1, users: 1 },
    ],
  });
  expect(byCategory.map(({ category, proposed: each }) => [category, each.trades])).toEqual([
    ["sports", 1],
    ["weather", 0],
  ]);
});

test("what closed a position closes it under another fee, which the house then has", async () => {
  const world = sceneOf({ feeBps: 0 });
  const { sharesMicro } = world.run(tradeOf({ amountMicro: usd(50) })).result;
  world.run(saleOf({ sharesMicro }));
  const { recorded, proposed, refused } = await replay(world, { feeBps: 100 });
  expect(refused.trades).toBe(0);
  expect(recorded.feesUsd).toBe(0);
  expect(proposed.feesUsd).toBeGreaterThan(0.9);
  expect(proposed.houseResultUsd).toBe(proposed.feesUsd);
});

test("a settlement keeps its outcome and pays what the replayed trades bought", async () => {
  const world = sceneOf();
  world.run(tradeOf({ amountMicro: usd(100) }));
  world.run(tradeOf({ traderId: "bob", side: "no", amountMicro: usd(10) }));
  world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
  const { recorded, proposed } = await replay(world, { maxTradeUsd: 50 });
  expect(recorded.houseResultUsd).toBeLessThan(0);
  // Only bob's ten dollars are left, and he lost them.
  expect(proposed).toMatchObject({ trades: 1, houseResultUsd: 10 });
  expect(recorded.worstCaseUsd).toBeGreaterThan(proposed.worstCaseUsd);
});

test("a user whom the log places nowhere is refused where the record asked for no place, and admitted where it did", async () => {
  const free = sceneOf();
  free.run(tradeOf());
  const blocked = { allowed: [], blocked: ["US"] };
  expect((await replay(free, { jurisdictions: blocked })).refused.byCode).toEqual([
    { code: "JURISDICTION_UNKNOWN", trades: 1, users: 1 },
  ]);
  // The user's token said where, which no entry tells.
  const placed = sceneOf({ jurisdictions: blocked });
  placed.run(tradeOf({ claimedJurisdiction: "GB" }));
  const allowed = { allowed: ["GB"], blocked: ["US"] };
  expect((await replay(placed, { jurisdictions: allowed })).refused.trades).toBe(0);
});

test("money that left in the window leaves again only where it is there", async () => {
  const world = sceneOf();
  world.run(tradeOf({ amountMicro: usd(100) }));
  world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
  world.run({ type: "requestWithdrawal", id: "w1", traderId: "ann", amountMicro: usd(1050) });
  world.run({ type: "decideWithdrawal", id: "w1", traderId: "ann", approve: true });
  world.run(tradeOf({ marketId: "m2", amountMicro: usd(20) }));
  const { refused, proposed } = await replay(world, { maxTradeUsd: 50 });
  expect(refused.byCode).toEqual([{ code: "MAX_TRADE_EXCEEDED", trades: 1, users: 1 }]);
  expect(proposed).toMatchObject({ trades: 1, volumeUsd: 20 });
});

test("the digest is that of the record and the policy; a window without commands is empty", async () => {
  const world = sceneOf();
  world.run(tradeOf());
  const { digest } = await replay(world);
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  world.wait(60_000);
  expect(await replay(world)).toMatchObject({ digest });
  expect((await replay(world, { maxTradeUsd: 9 })).digest).not.toBe(digest);
  world.run(tradeOf({ traderId: "bob" }));
  expect((await replay(world)).digest).not.toBe(digest);

  const nothing = { trades: 0, users: 0, volumeUsd: 0, feesUsd: 0, houseResultUsd: 0 };
  const empty = await replay(world, {}, world.now + 1);
  expect(empty).toMatchObject({
    commands: 0,
    recorded: nothing,
    proposed: nothing,
    refused: { trades: 0, byCode: [] },
  });
});
