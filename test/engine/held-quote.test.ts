import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import type { GivenQuote, HeldQuote } from "../../src/domain/market/held-quote.ts";
import type { Command } from "../../src/engine/commands.ts";
import { fillBuy, fillSell } from "../../src/engine/fill.ts";
import { anyKind, anySide, magnitude, runs } from "../domain/random.ts";
import { CLOSE, marketOf, NOW, openWorld, saleOf, tradeOf, usd, type World } from "./world.ts";

type Trade = Command<"placeTrade"> | Command<"sellShares">;

/** What a service would sign for this trade, at this instant. */
function quoteOf(world: World, trade: Trade): HeldQuote {
  const fill =
    trade.type === "placeTrade"
      ? fillBuy(world, trade, trade.traderId, world.now)
      : fillSell(world, trade, trade.traderId, world.now);
  return { ...fill, expiresAt: world.now + 10_000 };
}

let world: World;
let quote: HeldQuote;
const TRADE = tradeOf();
const held = (given: GivenQuote = quote) => ({ ...TRADE, id: "again", quote: given });

beforeEach(() => {
  world = openWorld({ feeBps: 100 });
  world.run(marketOf());
  for (const trader of ["ann", "bob"]) {
    world.trader(trader);
    world.fund(trader, 1000);
  }
  quote = quoteOf(world, TRADE);
});

const pricedAt = (): number => quoteOf(world, TRADE).yesPriceAfter;

describe("a trade by a held quote", () => {
  test("comes out as it was quoted, and its commit must come before the quote or the market ends", () => {
    const { result, draft } = world.decide(held());
    const { amountMicro, feeMicro, sharesMicro, yesPriceAfter } = quote;
    expect(result).toMatchObject({ amountMicro, feeMicro, sharesMicro, yesPriceAfter });
    expect(draft.before).toBe(NOW + 10_001);
    world.now = CLOSE - 1;
    expect(world.decide(held({ ...quote, expiresAt: CLOSE + 5 })).draft.before).toBe(CLOSE);
  });

  test("executes up to the instant at which the quote expires, and not a millisecond later", () => {
    world.wait(10_000);
    expect(world.refusal(held())).toBe("accepted");
    world.wait(1);
    expect(world.refusal(held())).toBe("QUOTE_EXPIRED");
  });

  test("is refused once the price or the fee has moved, to the trader's favour too", () => {
    world.run(tradeOf({ traderId: "bob", side: "no" }));
    expect(pricedAt()).toBeLessThan(quote.yesPriceAfter);
    expect(world.refusal(held())).toBe("QUOTE_MOVED");
    quote = quoteOf(world, TRADE);
    for (const feeBps of [99, 101]) {
      world.policy({ feeBps });
      expect(world.refusal(held())).toBe("QUOTE_MOVED");
    }
    world.policy({ feeBps: 100 });
    expect(world.refusal(held())).toBe("accepted");
  });

  test("is not executed twice, not even where the price came back to what it was", () => {
    world.policy({ feeBps: 0 });
    quote = quoteOf(world, TRADE);
    const { result } = world.run(held());
    expect(world.refusal(held())).toBe("QUOTE_MOVED");
    world.run(saleOf({ sharesMicro: result.sharesMicro }));
    expect(pricedAt()).toBe(quote.yesPriceAfter);
    expect(world.refusal(held())).toBe("QUOTE_MOVED");
  });

  test("outlives what others trade, as long as it comes to the same", () => {
    world.policy({ feeBps: 0 });
    quote = quoteOf(world, TRADE);
    const { result } = world.run(tradeOf({ traderId: "bob" }));
    expect(world.refusal(held())).toBe("QUOTE_MOVED");
    world.run(saleOf({ traderId: "bob", sharesMicro: result.sharesMicro }));
    expect(world.refusal(held())).toBe("accepted");
  });

  test("ends with a trade of its own user in the same side", () => {
    world.policy({ feeBps: 0 });
    quote = quoteOf(world, TRADE);
    const { result } = world.run(tradeOf({ id: "other" }));
    world.run(saleOf({ sharesMicro: result.sharesMicro }));
    expect(world.refusal(held())).toBe("QUOTE_MOVED");
  });

  test("outlives a trade in another market, and a suspension that was lifted", () => {
    world.run(marketOf({ id: "m2" }));
    world.run(tradeOf({ traderId: "bob", marketId: "m2" }));
    world.run({ type: "suspendMarket", marketId: "m1" });
    expect(world.refusal(held())).toBe("MARKET_SUSPENDED");
    world.run({ type: "resumeMarket", marketId: "m1" });
    expect(world.refusal(held())).toBe("accepted");
  });

  test("keeps the caller's own bounds, which are told last", () => {
    expect(world.refusal({ ...held(), maxAvgPrice: 0.4 })).toBe("SLIPPAGE");
    world.run(tradeOf({ traderId: "bob" }));
    expect(world.refusal({ ...held(), maxAvgPrice: 0.4 })).toBe("QUOTE_MOVED");
  });
});

test("the reasons to refuse come in the documented order", () => {
  const expired = { ...quote, expiresAt: NOW - 1 };
  const obstacles: [code: string, change: () => void][] = [
    ["QUOTE_MOVED", () => world.run(tradeOf({ traderId: "bob" }))],
    ["INSUFFICIENT_FUNDS", () => world.fund("ann", 9)],
    ["EXPOSURE_EXCEEDED", () => world.policy({ maxUserExposureUsd: 9 })],
    ["MAX_TRADE_EXCEEDED", () => world.policy({ maxTradeUsd: 9 })],
  ];
  for (const [code, change] of obstacles) {
    change();
    expect(world.refusal(held())).toBe(code);
  }
  expect(world.refusal(held(expired))).toBe("QUOTE_EXPIRED");
  expect(world.refusal(held("invalid"))).toBe("QUOTE_INVALID");
  world.trader("ann", { restricted: true });
  expect(world.refusal(held("invalid"))).toBe("ACCOUNT_RESTRICTED");
  world.run({ type: "suspendMarket", marketId: "m1" });
  expect(world.refusal(held("invalid"))).toBe("MARKET_SUSPENDED");
});

test("where the price has moved so far that nothing can be bought, it has moved", () => {
  const state = world.get("marketState", "m1");
  if (!state) throw new Error("There is no market");
  world.put("marketState", "m1", { ...state, yesMicro: usd(1), noMicro: usd(995) });
  expect(world.refusal(TRADE)).toBe("PRICE_BOUND");
  expect(world.refusal(held())).toBe("QUOTE_MOVED");
});

const step = fc.oneof(
  fc.record({ do: fc.constant("trade" as const), side: anySide, amountMicro: magnitude(0, 8) }),
  fc.record({ do: fc.constant("fee" as const), feeBps: fc.integer({ min: 0, max: 1000 }) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 12_000 }) }),
  fc.record({ do: fc.constant("hold" as const), buys: fc.boolean(), side: anySide, micro: magnitude(3, 8) }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant("use" as const), which: fc.nat({ max: 20 }) }) },
);

test("whatever happens between, a held quote executes once as it was quoted or is refused, and money adds up", () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(anyKind, fc.array(step, { minLength: 10, maxLength: 40, size: "max" }), (kind, steps) => {
      const scene = openWorld({ feeBps: 100 });
      scene.run(marketOf({ kind }));
      for (const trader of ["ann", "bob"]) scene.trader(trader);
      scene.fund("ann", 120);
      scene.fund("bob", 1000);
      const money = () => scene.all("account").reduce((sum, [, { balanceMicro }]) => sum + balanceMicro, 0n);
      const before = money();
      const quotes: { trade: Trade; quote: HeldQuote; uses: number }[] = [];
      for (const each of steps) {
        if (each.do === "wait") scene.wait(each.ms);
        if (each.do === "fee") scene.policy({ feeBps: each.feeBps });
        if (each.do === "trade") attempt(() => scene.run(tradeOf({ ...each, traderId: "bob" })));
        if (each.do === "hold") {
          const trade = each.buys
            ? tradeOf({ side: each.side, amountMicro: each.micro })
            : saleOf({ side: each.side, sharesMicro: each.micro });
          attempt(() => quotes.push({ trade, quote: quoteOf(scene, trade), uses: 0 }));
        }
        const used = each.do === "use" ? quotes[each.which % Math.max(quotes.length, 1)] : undefined;
        if (!used) continue;
        const outcome = attempt(() => {
          const { result } = scene.run({ ...used.trade, quote: used.quote });
          const { amountMicro, feeMicro, sharesMicro, yesPriceAfter } = used.quote;
          expect(result).toMatchObject({ amountMicro, feeMicro, sharesMicro, yesPriceAfter });
          used.uses += 1;
        });
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
        expect(used.uses).toBeLessThanOrEqual(1);
        expect(money()).toBe(before);
      }
    }),
    runs(300),
  );
  expect([...seen.keys()].toSorted()).toEqual([
    ...["INSUFFICIENT_FUNDS", "INSUFFICIENT_SHARES", "QUOTE_EXPIRED", "QUOTE_MOVED", "accepted"],
  ]);
});

/** The code of the refusal, or "accepted". */
function attempt(act: () => unknown): string {
  try {
    act();
    return "accepted";
  } catch (fault) {
    if (fault instanceof Fault) return fault.code;
    throw fault;
  }
}
