import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { walletOf } from "../../src/domain/accounts.ts";
import { canonicalJson } from "../../src/domain/audit/audit-link.ts";
import type { Outcome } from "../../src/domain/market/outcome.ts";
import { SINGLE } from "../../src/engine/rows.ts";
import { runs } from "../domain/random.ts";
import { marketOf, openWorld, saleOf, tradeOf, usd, type World } from "./world.ts";

const HOUR = 3_600_000;

/** The market of the contract's examples: fee 100 bps, cpmm at 0.5, with this fund. */
function exampleWorld(fund: number): World {
  const world = openWorld({ feeBps: 100 });
  const tenant = world.get("tenant", SINGLE);
  if (tenant)
    world.put("tenant", SINGLE, { ...tenant, document: canonicalJson({ resolution: { correctionHours: 24 } }) });
  world.run(marketOf({ liquidityMicro: usd(fund) }));
  for (const traderId of ["ann", "bob", "cyd", "dan"]) world.fund(traderId, 1000);
  return world;
}

const buy = (world: World, traderId: string, side: "yes" | "no", dollars: number) =>
  world.run(tradeOf({ traderId, side, amountMicro: usd(dollars) })).result;
const sell = (world: World, traderId: string, side: "yes" | "no", shares: number) =>
  world.run(saleOf({ traderId, side, sharesMicro: usd(shares) })).result;

function firstExample(): World {
  const world = exampleWorld(100);
  expect(buy(world, "ann", "yes", 100).sharesMicro).toBe(usd(148.748_743));
  expect(buy(world, "bob", "yes", 300).sharesMicro).toBe(usd(327.089_966));
  expect(sell(world, "ann", "yes", 148.748_743).amountMicro).toBe(usd(140.760_046));
  expect(sell(world, "bob", "yes", 100).amountMicro).toBe(usd(90.392_414));
  expect(buy(world, "cyd", "no", 50).sharesMicro).toBe(usd(199.744_301));
  expect(world.balance("escrow:m1")).toBe(usd(314.347_54));
  return world;
}

function secondExample(): World {
  const world = exampleWorld(20);
  const ann = buy(world, "ann", "yes", 20);
  buy(world, "bob", "yes", 100);
  expect(sell(world, "ann", "yes", Number(ann.sharesMicro) / 1e6).amountMicro).toBe(usd(28.988_97));
  const cyd = buy(world, "cyd", "no", 40);
  buy(world, "dan", "no", 200);
  expect(sell(world, "cyd", "no", Number(cyd.sharesMicro) / 1e6).amountMicro).toBe(usd(137.946_606));
  expect(world.balance("escrow:m1")).toBe(usd(209.464_424));
  return world;
}

/** How much each wallet and the house's accounts changed. */
function changes(world: World, run: () => void) {
  const accounts = ["ann", "bob", "cyd", "dan"].map(walletOf).concat("treasury", "fees", "receivable:bob");
  const before = new Map(accounts.map((id) => [id, world.balance(id)]));
  run();
  const changed = accounts.map((id) => [id, world.balance(id) - (before.get(id) ?? 0n)] as const);
  return Object.fromEntries(changed.filter(([, micro]) => micro !== 0n));
}

const voiding = { type: "voidMarket", marketId: "m1", reason: "The match was called off" } as const;

describe("the worked examples of the contract", () => {
  test("a void pays back what open positions cost, fees from the fees, and the rest goes to the treasury", () => {
    const world = firstExample();
    const changed = changes(world, () => {
      const { result } = world.run({ ...voiding, maxTreasuryMicro: 0n });
      expect(result).toMatchObject({ payouts: 2, feesMicro: usd(2.582_822), treasuryMicro: usd(58.648_247) });
      expect(result.houseResultMicro).toBe(usd(-41.351_753));
    });
    expect(changed).toEqual({
      "wallet:bob": usd(208.282_115),
      "wallet:cyd": usd(50),
      fees: usd(-2.582_822),
      treasury: usd(58.648_247),
    });
  });

  test("a fraction pays each side its part, rounded down, and the rest goes to the treasury", () => {
    const world = firstExample();
    const changed = changes(world, () => world.run({ type: "settleMarket", marketId: "m1", outcome: "0.4" }));
    expect(changed).toEqual({
      "wallet:bob": usd(90.835_986),
      "wallet:cyd": usd(119.846_58),
      treasury: usd(103.664_974),
    });
    expect(world.log.at(-1)?.payload).toMatchObject({ outcome: { yes: "0.4" }, payouts: 2 });
  });

  test("a correction takes back from the wallet, the rest is owed, and pays who now gets more", () => {
    const world = firstExample();
    world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
    world.fund("bob", 100);
    world.wait(HOUR);
    const correction = { type: "correctMarket", marketId: "m1", outcome: "no", reason: "Wrong page read" } as const;
    for (const expectReceivablesMicro of [0n, usd(127.089_965)])
      expect(world.refusal({ ...correction, expectReceivablesMicro })).toBe("EXPECTATION_NOT_MET");
    const changed = changes(world, () => {
      const { result } = world.run({ ...correction, expectReceivablesMicro: usd(127.089_966) });
      expect(result).toMatchObject({ from: "yes", outcome: "no", users: 2, takenBackMicro: usd(227.089_966) });
      expect(result).toMatchObject({ receivablesMicro: usd(127.089_966), paidMicro: usd(199.744_301) });
    });
    expect(changed).toEqual({
      "wallet:bob": usd(-100),
      "receivable:bob": usd(-127.089_966),
      "wallet:cyd": usd(199.744_301),
      treasury: usd(27.345_665),
    });
    expect(world.refusal(correction)).toBe("OUTCOME_UNCHANGED");
    expect(world.get("marketEnd", "m1")?.corrections).toMatchObject([{ from: "yes", to: "no" }]);
  });

  test("a void that the escrow cannot cover takes from the treasury only what a person stated", () => {
    const world = secondExample();
    expect(world.refusal({ ...voiding, maxTreasuryMicro: 0n })).toBe("EXPECTATION_NOT_MET");
    expect(world.refusal({ ...voiding, maxTreasuryMicro: usd(87.535_575) })).toBe("EXPECTATION_NOT_MET");
    const changed = changes(world, () => {
      const { result } = world.run({ ...voiding, maxTreasuryMicro: usd(87.535_576) });
      expect(result.houseResultMicro).toBe(usd(-107.535_576));
    });
    expect(changed).toEqual({
      "wallet:bob": usd(100),
      "wallet:dan": usd(200),
      fees: usd(-3),
      treasury: usd(-87.535_576),
    });
  });
});

describe("refusals of a correction", () => {
  const correction = { type: "correctMarket", marketId: "m1", outcome: "no", reason: "Wrong" } as const;

  test("in their order: not settled, closed, unchanged; and a treasury that is too small", () => {
    const world = firstExample();
    expect(world.refusal({ ...correction, marketId: "none" })).toBe("MARKET_NOT_FOUND");
    expect(world.refusal(correction)).toBe("MARKET_NOT_SETTLED");
    world.run({ type: "settleMarket", marketId: "m1", outcome: "no" });
    expect(world.refusal(correction)).toBe("OUTCOME_UNCHANGED");
    const voided = { ...correction, outcome: "void" } as const;
    expect(world.refusal({ ...voided, maxTreasuryMicro: 0n })).toBe("EXPECTATION_NOT_MET");
    expect(world.refusal(voided)).toBe("accepted");
    const treasury = { id: "treasury", balanceMicro: world.balance("treasury"), version: 1 };
    world.put("account", "treasury", { ...treasury, balanceMicro: 0n });
    expect(world.refusal(voided)).toBe("TREASURY_INSUFFICIENT");
    world.put("account", "treasury", treasury);
    world.wait(24 * HOUR);
    expect(world.refusal(correction)).toBe("CORRECTION_CLOSED");
  });

  test("a tenant that allows no corrections has none", () => {
    const world = openWorld();
    world.run(marketOf());
    world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
    expect(world.refusal(correction)).toBe("CORRECTION_CLOSED");
  });

  test("what a user owes is repaid first by a later correction", () => {
    const world = firstExample();
    world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
    world.fund("bob", 0);
    world.run(correction);
    expect(world.balance("receivable:bob")).toBe(usd(-227.089_966));
    world.run({ ...correction, outcome: "yes" });
    expect([world.balance("receivable:bob"), world.balance("wallet:bob")]).toEqual([0n, 0n]);
  });
});

/** All money of a world, which no end creates or destroys. */
const total = (world: World) => world.all("account").reduce((sum, [, { balanceMicro }]) => sum + balanceMicro, 0n);

const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constantFrom<Outcome[]>("yes", "no", "void"),
  fc.integer({ min: 1, max: 999_999 }).map((ppm): Outcome => `0.${String(ppm).padStart(6, "0").replace(/0+$/, "")}`),
);
const steps = fc.array(
  fc.record({
    traderId: fc.constantFrom("ann", "bob", "cyd"),
    side: fc.constantFrom("yes" as const, "no" as const),
    sells: fc.boolean(),
    part: fc.integer({ min: 1, max: 1_000_000 }),
  }),
  { maxLength: 25 },
);

test("after any trades, end and corrections the money is what came in, and a corrected market paid what its last outcome pays", () => {
  fc.assert(
    fc.property(steps, fc.array(outcomes, { minLength: 1, maxLength: 4 }), (trades, [first = "yes", ...later]) => {
      const [world, direct] = [exampleWorld(20), exampleWorld(20)];
      for (const each of [world, direct]) {
        for (const { traderId, side, sells, part } of trades) {
          const heldMicro = each.get("position", `${side}:m1:${traderId}`)?.sharesMicro ?? 0n;
          const sharesMicro = (heldMicro * BigInt(part)) / 1_000_000n;
          const step = sells
            ? saleOf({ traderId, side, sharesMicro })
            : tradeOf({ traderId, side, amountMicro: BigInt(part) * 90n });
          if ((sells && sharesMicro === 0n) || each.refusal(step) !== "accepted") continue;
          each.run(step);
        }
      }
      const before = total(world);
      const end = (each: World, outcome: Outcome) =>
        outcome === "void" ? each.run(voiding) : each.run({ type: "settleMarket", marketId: "m1", outcome });
      end(world, first);
      const last = later.at(-1) ?? first;
      for (const outcome of later) {
        const command = { type: "correctMarket", marketId: "m1", outcome, reason: "r" } as const;
        if (world.refusal(command) !== "OUTCOME_UNCHANGED") world.run(command);
      }
      end(direct, last);
      expect(total(world)).toBe(before);
      expect(world.balance("escrow:m1")).toBe(0n);
      for (const id of ["wallet:ann", "wallet:bob", "wallet:cyd", "treasury", "fees"]) {
        const owed = world.balance(id.replace("wallet", "receivable"));
        expect(world.balance(id) + (id.startsWith("wallet") ? owed : 0n)).toBe(direct.balance(id));
      }
      const { payouts, paidMicro, feesMicro, treasuryMicro } = direct.get("marketEnd", "m1") ?? {};
      if (payouts !== undefined)
        expect(world.get("marketEnd", "m1")).toMatchObject({ payouts, paidMicro, feesMicro, treasuryMicro });
    }),
    runs(200),
  );
});
