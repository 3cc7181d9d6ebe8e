import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { fillBuy, fillSell } from "../../src/engine/fill.ts";
import { positionKey } from "../../src/engine/rows.ts";
import { anyKind, anySide, magnitude, runs } from "../domain/random.ts";
import { marketOf, openWorld, saleOf, tradeOf, usd, type World } from "./world.ts";

let world: World;
beforeEach(() => {
  world = openWorld({ feeBps: 100 });
  world.run(marketOf());
  world.fund("ann", 1000);
});

const sharesOf = (state: World, trader = "ann") =>
  state.get("position", positionKey(trader, "m1", "yes"))?.sharesMicro ?? 0n;

describe("a sale", () => {
  test("pays the proceeds less the fee, out of the escrow", () => {
    world.run(tradeOf({ amountMicro: usd(100) }));
    const escrow = world.balance("escrow:m1");
    const fees = world.balance("fees");
    const wallet = world.balance("wallet:ann");
    const { result, draft } = world.run(saleOf({ sharesMicro: usd(50) }));
    expect(result.feeMicro).toBe((result.amountMicro + 99n) / 100n);
    expect(escrow - world.balance("escrow:m1")).toBe(result.amountMicro);
    expect(world.balance("fees") - fees).toBe(result.feeMicro);
    expect(world.balance("wallet:ann") - wallet).toBe(result.amountMicro - result.feeMicro);
    expect(draft.audit[0]).toMatchObject({ type: "trade.executed", payload: { action: "sell", shares: "50" } });
  });

  test("gives up cost in proportion, rounded down, and all of it at the end", () => {
    world.run(tradeOf({ amountMicro: usd(100) }));
    const held = sharesOf(world);
    const part = held / 3n;
    const { result } = world.run(saleOf({ sharesMicro: part }));
    const released = (usd(100) * part) / held;
    expect(result.position.costMicro).toBe(usd(100) - released);
    expect(result.realizedMicro).toBe(result.amountMicro - result.feeMicro - released);
    expect(world.get("portfolio", "ann")?.exposureMicro).toBe(usd(100) - released);
    const last = world.run(saleOf({ sharesMicro: held - part })).result;
    expect(last.position).toEqual({ sharesMicro: 0n, costMicro: 0n });
    expect(world.get("portfolio", "ann")?.exposureMicro).toBe(0n);
  });

  test("counts as volume, and as a trade with the cost that it released", () => {
    world.run(tradeOf({ amountMicro: usd(100) }));
    const { result, draft } = world.run(saleOf());
    expect(world.get("marketState", "m1")?.volumeMicro).toBe(usd(100) + result.amountMicro);
    expect(draft.trades).toMatchObject([{ sharesMicro: usd(10), releasedMicro: expect.any(BigInt), hedgeRef: null }]);
    expect(draft.before).not.toBeNull();
  });

  test("of what is not held is refused, as is one that brings nothing or goes past the bound", () => {
    expect(world.refusal(saleOf())).toBe("INSUFFICIENT_SHARES");
    world.run(tradeOf({ amountMicro: usd(100) }));
    expect(world.refusal(saleOf({ side: "no" }))).toBe("INSUFFICIENT_SHARES");
    expect(world.refusal(saleOf({ sharesMicro: sharesOf(world) + 1n }))).toBe("INSUFFICIENT_SHARES");
    expect(world.refusal(saleOf({ sharesMicro: 1n }))).toBe("AMOUNT_TOO_SMALL");
    const marketState = world.get("marketState", "m1");
    if (marketState) world.put("marketState", "m1", { ...marketState, yesMicro: usd(999), noMicro: usd(1) });
    expect(world.refusal(saleOf({ sharesMicro: sharesOf(world) }))).toBe("PRICE_BOUND");
  });

  test("is bound by the market's state and the user's standing, and by no limit", () => {
    world.run(tradeOf({ amountMicro: usd(100) }));
    world.policy({ maxTradeUsd: 1, maxUserExposureUsd: 1 });
    expect(world.refusal(saleOf())).toBe("accepted");
    world.trader("ann", { restricted: true });
    expect(world.refusal(saleOf())).toBe("ACCOUNT_RESTRICTED");
    world.run({ type: "suspendMarket", marketId: "m1" });
    expect(world.refusal(saleOf())).toBe("MARKET_SUSPENDED");
  });
});

describe("the caller's own bounds", () => {
  test("hold to the digit that a quote shows, and refuse the next one", () => {
    const { avgPrice, sharesMicro } = world.decide(tradeOf()).result;
    expect(world.refusal(tradeOf({ maxAvgPrice: avgPrice, minSharesMicro: sharesMicro }))).toBe("accepted");
    expect(world.refusal(tradeOf({ maxAvgPrice: avgPrice - 0.000001 }))).toBe("SLIPPAGE");
    expect(world.refusal(tradeOf({ minSharesMicro: sharesMicro + 1n }))).toBe("SLIPPAGE");
    world.run(tradeOf({ amountMicro: usd(100) }));
    const sale = world.decide(saleOf()).result;
    expect(world.refusal(saleOf({ minAvgPrice: sale.avgPrice }))).toBe("accepted");
    expect(world.refusal(saleOf({ minAvgPrice: sale.avgPrice + 0.000001 }))).toBe("SLIPPAGE");
    const proceedsMicro = sale.amountMicro - sale.feeMicro;
    expect(world.refusal(saleOf({ minProceedsMicro: proceedsMicro }))).toBe("accepted");
    expect(world.refusal(saleOf({ minProceedsMicro: proceedsMicro + 1n }))).toBe("SLIPPAGE");
  });
});

const anyTrades = fc.array(
  fc.record({
    sell: fc.boolean(),
    side: anySide,
    share: fc.double({ min: 0.001, max: 1, noNaN: true }),
    dollars: magnitude(3, 9),
  }),
  { minLength: 2, maxLength: 30, size: "max" },
);

/** One trader, in and out; refused trades are left out. Returns the final world. */
function traded(
  kind: "cpmm" | "lmsr",
  p0Ppm: number,
  feeBps: number,
  trades: { sell: boolean; side: "yes" | "no"; share: number; dollars: bigint }[],
): World {
  const state = openWorld({ feeBps });
  state.run(marketOf({ kind, p0Ppm }));
  state.fund("ann", 1e6);
  for (const { sell, side, share, dollars } of trades) {
    const held = state.get("position", positionKey("ann", "m1", side))?.sharesMicro ?? 0n;
    const command = sell
      ? saleOf({ side, sharesMicro: share === 1 ? held : BigInt(Math.floor(Number(held) * share)) })
      : tradeOf({ side, amountMicro: dollars });
    if (sell && command.type === "sellShares" && command.sharesMicro <= 0n) continue;
    if (state.refusal(command) === "accepted") state.run(command);
  }
  return state;
}

test("the house never loses more than F, whatever is bought and sold and whichever side wins", () => {
  fc.assert(
    fc.property(
      anyKind,
      fc.integer({ min: 1000, max: 999_000 }),
      anySide,
      anyTrades,
      (kind, p0Ppm, outcome, trades) => {
        const state = traded(kind, p0Ppm, 0, trades);
        const treasury = state.balance("treasury");
        state.run({ type: "settleMarket", marketId: "m1", outcome });
        // F left the treasury at the opening; whatever returns is more than nothing.
        expect(state.balance("treasury")).toBeGreaterThanOrEqual(treasury);
        expect(state.balance("escrow:m1")).toBe(0n);
      },
    ),
    runs(400),
  );
});

test("no round trip profits: after any trades, selling out leaves no more than was brought", () => {
  fc.assert(
    fc.property(anyKind, fc.integer({ min: 1000, max: 999_000 }), anyTrades, (kind, p0Ppm, trades) => {
      const state = traded(kind, p0Ppm, 0, trades);
      let pairs = (1n << 62n) as bigint;
      for (const side of ["yes", "no"] as const) {
        const held = state.get("position", positionKey("ann", "m1", side))?.sharesMicro ?? 0n;
        const sale = saleOf({ side, sharesMicro: held });
        if (held > 0n && state.refusal(sale) === "accepted") state.run(sale);
        const left = state.get("position", positionKey("ann", "m1", side))?.sharesMicro ?? 0n;
        pairs = left < pairs ? left : pairs;
      }
      // A pair of YES and NO is a dollar whatever happens; what could not be sold past the bound is no profit.
      expect(state.balance("wallet:ann") + pairs).toBeLessThanOrEqual(usd(1e6));
    }),
    runs(400),
  );
});

test("a quote without a user is the trade to the micro", () => {
  const quote = fillBuy(world, tradeOf(), undefined, world.now);
  expect(world.run(tradeOf()).result).toMatchObject({
    amountMicro: quote.amountMicro,
    feeMicro: quote.feeMicro,
    sharesMicro: quote.sharesMicro,
    avgPrice: quote.avgPrice,
    yesPriceAfter: quote.yesPriceAfter,
  });
  const out = fillSell(world, saleOf(), undefined, world.now);
  expect(world.run(saleOf()).result).toMatchObject({ amountMicro: out.amountMicro, feeMicro: out.feeMicro });
});
