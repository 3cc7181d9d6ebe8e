import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type MarketKind, pricesOf, type Side } from "../../src/domain/market/market.ts";
import { feeOn, usdFromMicro } from "../../src/domain/money.ts";
import {
  estimate,
  feeBpsOf,
  isWorse,
  poolAt,
  sellableNow,
  sellValueAt,
  shownResult,
} from "../../src/embed/ticket/quote.ts";
import type { TradeResult } from "../../src/engine/trade.ts";
import { marketOf, openWorld, saleOf, tradeOf, usd, type World } from "../engine/world.ts";
import { PUBLIC_KEY } from "../server/support/harness.ts";
import { type ServedTenant, serveTenant } from "../server/support/tenant.ts";

const side = fc.constantFrom<Side>("yes", "no");
const purchase = fc.record({ side, cents: fc.integer({ min: 1, max: 50_000 }) });
const scene = fc.record({
  kind: fc.constantFrom<MarketKind>("cpmm", "lmsr"),
  p0Ppm: fc.integer({ min: 50_000, max: 950_000 }),
  feeBps: fc.integer({ min: 0, max: 1000 }),
  before: fc.array(purchase, { maxLength: 6 }),
  wanted: purchase,
});

/** A market in which some have traded already; who would have left the price's bounds has not. */
function worldOf({ kind, p0Ppm, feeBps, before }: typeof scene extends fc.Arbitrary<infer T> ? T : never): World {
  const world = openWorld({ feeBps });
  world.run(marketOf({ kind, p0Ppm }));
  for (const trader of ["ann", "bob"]) {
    world.trader(trader);
    world.fund(trader, 1e6);
  }
  for (const { side: chosen, cents } of before) {
    const command = tradeOf({ traderId: "bob", side: chosen, amountMicro: BigInt(cents) * 10_000n });
    if (world.refusal(command) === "accepted") world.run(command);
  }
  return world;
}

const CODES = {
  "too-small": "AMOUNT_TOO_SMALL",
  "price-bound": "PRICE_BOUND",
  "cannot-pay-off": "COST_EXCEEDS_PAYOUT",
};

/** What the page would show of this fill. */
function quoteOf({ amountMicro, feeMicro, sharesMicro, avgPrice, yesPriceAfter }: TradeResult, yesPriceBefore: number) {
  const [amount, fee, shares] = [usdFromMicro(amountMicro), usdFromMicro(feeMicro), usdFromMicro(sharesMicro)];
  return { amount, fee, shares, avgPrice, yesPriceBefore, yesPriceAfter };
}

function marketIn(world: World) {
  const [market, pool] = [world.get("market", "m1"), world.get("marketState", "m1")];
  if (!market || !pool) throw new Error("There is no market");
  return { market, pool };
}

describe("the quote that the page computes", () => {
  test("is to the last unit what the engine would fill, or says why there is none", () => {
    fc.assert(
      fc.property(scene, (each) => {
        const world = worldOf(each);
        const { market, pool } = marketIn(world);
        const { side: chosen, cents } = each.wanted;
        const before = pricesOf(market, pool).yes;
        const order = { side: chosen, action: "buy", sizeMicro: BigInt(cents) * 10_000n } as const;
        const quote = estimate(market, pool, order, each.feeBps);
        const command = tradeOf({ side: chosen, amountMicro: order.sizeMicro });
        if (typeof quote === "string") {
          expect(world.refusal(command)).toBe(CODES[quote]);
          return;
        }
        const { result } = world.decide(command);
        expect(quote).toEqual(quoteOf(result, before));
        // What selling them again at once is said to pay is what the engine then pays, after its fee.
        world.run(command);
        const { sharesMicro, yesPriceAfter } = result;
        const sale = saleOf({ side: chosen, sharesMicro });
        const terms = { mechanism: market, pool, feeBps: each.feeBps };
        const resale = sellValueAt(terms, { side: chosen, shares: quote.shares, yesPrice: yesPriceAfter });
        if (world.refusal(sale) !== "accepted") return;
        const { amountMicro, feeMicro } = world.decide(sale).result;
        expect(resale).toBeCloseTo(Number(amountMicro - feeMicro) / 1e6, 2);
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  test("of a sale is to the last unit what the engine would fill, or says why there is none", () => {
    fc.assert(
      fc.property(scene, fc.integer({ min: 1, max: 100 }), (each, percent) => {
        const world = worldOf(each);
        const { side: chosen, cents } = each.wanted;
        const purchase = tradeOf({ side: chosen, amountMicro: BigInt(cents) * 10_000n });
        if (world.refusal(purchase) !== "accepted") return;
        const sizeMicro = (world.run(purchase).result.sharesMicro * BigInt(percent)) / 100n;
        if (sizeMicro === 0n) return;
        const { market, pool } = marketIn(world);
        const before = pricesOf(market, pool).yes;
        const quote = estimate(market, pool, { side: chosen, action: "sell", sizeMicro }, each.feeBps);
        const sale = saleOf({ side: chosen, sharesMicro: sizeMicro });
        if (typeof quote === "string") {
          expect(world.refusal(sale)).toBe(CODES[quote]);
          return;
        }
        expect(quote).toEqual(quoteOf(world.decide(sale).result, before));
      }),
      { numRuns: 200, seed: 13 },
    );
  });

  test("follows the price that others moved: the pool found from the opening one quotes like the real one", () => {
    fc.assert(
      fc.property(scene, (each) => {
        const opening = marketIn(worldOf({ ...each, before: [] }));
        const { market, pool } = marketIn(worldOf(each));
        const found = poolAt(market, opening.pool, pricesOf(market, pool).yes);
        const order = { side: each.wanted.side, action: "buy", sizeMicro: usd(25) } as const;
        const [guess, truth] = [found, pool].map((one) => estimate(market, one, order, each.feeBps));
        if (typeof guess !== "object" || typeof truth !== "object") return;
        expect(Math.abs(guess.avgPrice / truth.avgPrice - 1)).toBeLessThan(0.0005);
      }),
      { numRuns: 200, seed: 11 },
    );
  });
});

describe("what a ticket shows", () => {
  const other = fc.record({ side, micro: fc.integer({ min: 1, max: 200_000_000 }) });
  const change = fc.record({
    isPurchase: fc.boolean(),
    others: fc.array(other, { maxLength: 4 }),
    raisesFee: fc.boolean(),
  });

  test("is the least that its trade gives, or nothing is traded; what others trade ends it only by taking from what is shown", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(scene, change, (each, { isPurchase, others, raisesFee }) => {
        const world = worldOf(each);
        const bought = tradeOf({ side: each.wanted.side, amountMicro: BigInt(each.wanted.cents) * 10_000n });
        if (world.refusal(bought) !== "accepted") return;
        const action = isPurchase ? "buy" : "sell";
        const order = isPurchase
          ? bought
          : saleOf({ side: bought.side, sharesMicro: world.run(bought).result.sharesMicro });
        if (world.refusal(order) !== "accepted") return;
        const told = quoteOf(world.decide(order).result, 0);
        const shown = shownResult(action, told);
        expect(shown).toBeLessThanOrEqual(isPurchase ? told.shares : told.amount - told.fee + 1e-9);
        if (shown === 0) return;
        for (const { side: theirs, micro } of others) {
          const theirTrade = tradeOf({ traderId: "bob", side: theirs, amountMicro: BigInt(micro) });
          if (world.refusal(theirTrade) === "accepted") world.run(theirTrade);
        }
        if (raisesFee) world.policy({ feeBps: Math.min(1000, each.feeBps + 50) });
        const now = world.refusal(order) === "accepted" ? quoteOf(world.decide(order).result, 0) : undefined;
        const micro = BigInt(Math.round(shown * 1e6));
        const bounded = { ...order, ...(isPurchase ? { minSharesMicro: micro } : { minProceedsMicro: micro }) };
        const outcome = world.refusal(bounded);
        seen.add(outcome);
        if (now === undefined) {
          expect(outcome).not.toBe("accepted");
          return;
        }
        // Accepted exactly where the figures that would be shown now are those that were, or better.
        expect(outcome).toBe(shownResult(action, now) >= shown ? "accepted" : "SLIPPAGE");
        // The page gives a ticket back only for what the server would refuse.
        if (isWorse(action, now, told)) expect(outcome).toBe("SLIPPAGE");
      }),
      { numRuns: 500, seed: 23 },
    );
    expect(seen).toContain("accepted");
    expect(seen).toContain("SLIPPAGE");
  });

  test("outlives a trade of others of a ten-thousandth of a dollar", () => {
    const world = worldOf({ kind: "cpmm", p0Ppm: 500_000, feeBps: 100, before: [], wanted: { side: "yes", cents: 1 } });
    const order = tradeOf({ side: "yes", amountMicro: usd(25) });
    const shown = shownResult("buy", quoteOf(world.decide(order).result, 0.5));
    world.run(tradeOf({ traderId: "bob", side: "yes", amountMicro: 100n }));
    const { sharesMicro } = world.run({ ...order, minSharesMicro: BigInt(Math.round(shown * 1e6)) }).result;
    expect(Number(sharesMicro) / 1e6).toBeGreaterThanOrEqual(shown);
  });
});

test("a quote tells its fee to the basis point from a cent on, and keeps the known one where it explains less", () => {
  const micro = fc.integer({ min: 1, max: 1_000_000_000 });
  const bps = fc.integer({ min: 0, max: 1000 });
  fc.assert(
    fc.property(micro, bps, bps, (amountMicro, feeBps, known) => {
      const feeMicro = Number(feeOn(BigInt(amountMicro), feeBps));
      const told = { amount: amountMicro / 1e6, fee: feeMicro / 1e6 };
      if (amountMicro >= 10_000) expect(feeBpsOf(told, known)).toBe(feeBps);
      expect(feeBpsOf(told, feeBps)).toBe(feeBps);
    }),
    { numRuns: 500, seed: 17 },
  );
});

test.each(["cpmm", "lmsr"] as const)(
  "the part of a large position in a %s market that is offered is the most that the engine sells",
  (kind) => {
    const world = worldOf({ kind, p0Ppm: 300_000, feeBps: 0, before: [], wanted: { side: "yes", cents: 1 } });
    const { sharesMicro } = world.run(tradeOf({ side: "yes", amountMicro: usd(5000) })).result;
    const whole = marketIn(world);
    expect(sellableNow(whole.market, whole.pool, "yes", sharesMicro)).toBe(sharesMicro);
    while (true) {
      const command = tradeOf({ traderId: "bob", side: "no", amountMicro: usd(500) });
      if (world.refusal(command) !== "accepted") break;
      world.run(command);
    }
    const { market, pool } = marketIn(world);
    const most = sellableNow(market, pool, "yes", sharesMicro);
    expect(most).toBeGreaterThan(0n);
    expect(most).toBeLessThan(sharesMicro);
    expect(world.refusal(saleOf({ side: "yes", sharesMicro: most }))).toBe("accepted");
    expect(world.refusal(saleOf({ side: "yes", sharesMicro: most + 10_000n }))).toBe("PRICE_BOUND");
  },
);

describe("over HTTP", () => {
  let tenant: ServedTenant;
  beforeAll(async () => {
    tenant = await serveTenant({ embed: { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: [] } });
  });
  afterAll(() => tenant?.close());

  test.each(["cpmm", "lmsr"] as const)("the document of a %s market quotes as POST /v1/quote does", async (kind) => {
    await tenant.openMarket(`mkt_${kind}`, { kind, p0Ppm: 320_000 });
    const page = await (await fetch(`${tenant.url}/embed/market?marketId=mkt_${kind}`)).text();
    const { market, limits } = JSON.parse(/id="data">(.*?)<\/script>/.exec(page)?.[1] ?? "{}");
    const { terms } = market;
    const mechanism = { kind: terms.kind, p0Ppm: terms.p0Ppm, fundMicro: BigInt(terms.fundMicro) };
    const pool = { yesMicro: BigInt(terms.yesMicro), noMicro: BigInt(terms.noMicro) };
    for (const [chosen, amount] of [
      ["yes", 5],
      ["no", 25],
      ["yes", 99.99],
    ] as const) {
      const response = await fetch(`${tenant.url}/v1/quote`, {
        method: "POST",
        headers: { "x-api-key": PUBLIC_KEY, "content-type": "application/json" },
        body: JSON.stringify({ marketId: `mkt_${kind}`, selection: { side: chosen }, amount }),
      });
      const quoted = (await response.json()) as Record<string, number>;
      const order = { side: chosen, action: "buy", sizeMicro: usd(amount) } as const;
      const own = estimate(mechanism, pool, order, limits.feeBps);
      if (typeof own === "string") throw new Error(own);
      expect(quoted).toMatchObject(own);
    }
  });
});
