import { beforeEach, describe, expect, test } from "vitest";
import { buyShares, openPool } from "../../src/domain/market/market.ts";
import { CLOSE, marketOf, NOW, openWorld, tradeOf, usd, type World } from "./world.ts";

let world: World;

beforeEach(() => {
  world = openWorld({ feeBps: 100 });
  world.run(marketOf());
  world.fund("ann", 1000);
});

describe("limits are inclusive", () => {
  test("exactly maxTradeUsd passes, a micro-dollar more does not", () => {
    world.policy({ maxTradeUsd: 25.5 });
    expect(world.refusal(tradeOf({ amountMicro: usd(25.5) }))).toBe("accepted");
    expect(world.refusal(tradeOf({ amountMicro: usd(25.5) + 1n }))).toBe("MAX_TRADE_EXCEEDED");
  });

  test("exactly the exposure cap passes, a micro-dollar more does not, and open positions count at their cost", () => {
    world.policy({ maxUserExposureUsd: 100 });
    world.run(tradeOf({ amountMicro: usd(60) }));
    expect(world.refusal(tradeOf({ side: "no", amountMicro: usd(40) }))).toBe("accepted");
    expect(world.refusal(tradeOf({ side: "no", amountMicro: usd(40) + 1n }))).toBe("EXPOSURE_EXCEEDED");
  });

  test("the cap of the suitability tier counts when it is the lower one", () => {
    world.trader("ann", { suitabilityScore: 3 });
    expect(world.refusal(tradeOf({ amountMicro: usd(500) }))).toBe("accepted");
    expect(world.refusal(tradeOf({ amountMicro: usd(500) + 1n }))).toBe("EXPOSURE_EXCEEDED");
  });

  test("exactly the balance passes and leaves nothing, a micro-dollar more does not", () => {
    world.fund("ann", 12.34);
    expect(world.refusal(tradeOf({ amountMicro: usd(12.34) + 1n }))).toBe("INSUFFICIENT_FUNDS");
    world.run(tradeOf({ amountMicro: usd(12.34) }));
    expect(world.balance("wallet:ann")).toBe(0n);
  });

  test.each(["yes", "no"] as const)(
    "a trade of %s may land exactly on the price bound, and not a micro past it",
    (side) => {
      world.policy({ feeBps: 0 });
      // 1.998 · 500 = 1 · 999, and 999 of 1000 is the bound: spending 499 lands on it.
      const marketState = world.get("marketState", "m1");
      const pool =
        side === "yes" ? { yesMicro: usd(1.998), noMicro: usd(500) } : { yesMicro: usd(500), noMicro: usd(1.998) };
      if (marketState) world.put("marketState", "m1", { ...marketState, ...pool });
      const landed = world.decide(tradeOf({ side, amountMicro: usd(499) })).result;
      expect(landed.yesPriceAfter).toBe(side === "yes" ? 0.999 : 0.001);
      expect(world.refusal(tradeOf({ side, amountMicro: usd(499) + 1n }))).toBe("PRICE_BOUND");
    },
  );
});

describe("what a trade does", () => {
  test("the fee is rounded up to a micro-dollar, goes to the fee account, and the rest buys", () => {
    const { result, draft } = world.run(tradeOf({ amountMicro: 10_001n }));
    expect(result.feeMicro).toBe(101n);
    expect(draft.transfers).toEqual([
      { debit: "wallet:ann", credit: "escrow:m1", amountMicro: 9_900n, entry: 0 },
      { debit: "wallet:ann", credit: "fees", amountMicro: 101n, entry: 0 },
    ]);
    expect(world.balance("treasury")).toBe(usd(99_000));
    expect(world.balance("fees")).toBe(101n);
  });

  test("without a fee there is one transfer only", () => {
    world.policy({ feeBps: 0 });
    expect(world.decide(tradeOf()).draft.transfers).toHaveLength(1);
  });

  test.each(["cpmm", "lmsr"] as const)("the shares are those of the %s market for the amount less the fee", (kind) => {
    world.run(marketOf({ id: "m2", kind, p0Ppm: 300_000 }));
    const mechanism = { kind, fundMicro: usd(1000), p0Ppm: 300_000 };
    const bought = buyShares(mechanism, openPool(mechanism), "no", usd(24.75));
    const { result } = world.run(tradeOf({ marketId: "m2", side: "no", amountMicro: usd(25) }));
    expect(result.sharesMicro).toBe(bought.sharesMicro);
    expect(world.get("marketState", "m2")).toMatchObject({ ...bought.pool, volumeMicro: usd(25) });
    expect(result.avgPrice).toBe(Math.round((25e6 / Number(bought.sharesMicro)) * 1e6) / 1e6);
  });

  test("trades of one side add up in one position, at cost; the other side is a position of its own", () => {
    const first = world.run(tradeOf({ amountMicro: usd(10) })).result;
    const second = world.run(tradeOf({ amountMicro: usd(20) })).result;
    expect(second.position).toEqual({ sharesMicro: first.sharesMicro + second.sharesMicro, costMicro: usd(30) });
    const other = world.run(tradeOf({ side: "no", amountMicro: usd(5) })).result;
    expect(other.position).toEqual({ sharesMicro: other.sharesMicro, costMicro: usd(5) });
    expect(world.get("portfolio", "ann")?.exposureMicro).toBe(usd(35));
  });

  test("the audit entry names trade, market, user and side, amounts as decimal strings", () => {
    const { result, draft } = world.run(tradeOf({ id: "trd_9", amountMicro: usd(25) }));
    expect(draft.audit).toEqual([
      {
        type: "trade.executed",
        payload: {
          tradeId: "trd_9",
          marketId: "m1",
          userId: "ann",
          side: "yes",
          amount: "25",
          fee: "0.25",
          shares: String(Number(result.sharesMicro) / 1e6),
          yesPriceAfter: String(result.yesPriceAfter),
        },
      },
    ]);
  });

  test("the trade's row says the same as its result, the price in millionths", () => {
    const { result, draft } = world.run(tradeOf());
    expect(draft.trades).toEqual([
      expect.objectContaining({
        id: result.tradeId,
        amountMicro: result.amountMicro,
        feeMicro: result.feeMicro,
        sharesMicro: result.sharesMicro,
        yesPricePpm: Math.round(result.yesPriceAfter * 1e6),
        ts: NOW,
      }),
    ]);
  });

  test("a trade must be committed before its market closes", () => {
    expect(world.decide(tradeOf()).draft.before).toBe(CLOSE);
    world.now = CLOSE - 1;
    expect(world.refusal(tradeOf())).toBe("accepted");
    world.now = CLOSE;
    expect(world.refusal(tradeOf())).toBe("MARKET_CLOSED");
  });

  test("a user not seen before exists from its first trade", () => {
    world.fund("new", 10);
    world.run(tradeOf({ traderId: "new" }));
    expect(world.get("trader", "new")).toMatchObject({ kyc: "unverified", restricted: false, createdAt: NOW });
  });

  test("the same command on the same state at the same time is the same decision", () => {
    const trade = tradeOf();
    const [one, two] = [world.decide(trade), world.decide(trade)];
    expect(one.result).toEqual(two.result);
    expect([...one.draft.writes()]).toEqual([...two.draft.writes()]);
  });
});
