import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { lmsrLiquidity } from "../../src/domain/market/lmsr.ts";
import {
  buyShares,
  type MarketKind,
  type Mechanism,
  openPool,
  type Side,
  spendTo,
  yesPriceOf,
} from "../../src/domain/market/market.ts";
import type { Pool } from "../../src/domain/market/pool.ts";
import { averagePrice, feeOn } from "../../src/domain/money.ts";

interface UsdTrade {
  market: {
    kind: MarketKind;
    p0: number;
    subsidyF?: number;
    liquidityMaxReserveF?: number;
    pool?: { yes: number; no: number };
  };
  policy: { feeBps: number };
  request: { side: Side; amountUsd: number };
  expect: {
    shares: number;
    avgPriceGross: number;
    yesPriceAfter: number;
    feeUsd: number;
    poolAfter?: { yes: number; no: number };
  };
}

interface Vector {
  id: string;
  mechanism: MarketKind;
  operation: string;
  input: { targetPrice?: number; b?: number; shares?: number };
  exact: Record<string, number>;
  usdTrade?: UsdTrade;
}

const file = new URL("../vectors/market-maths.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: Vector[] };

const micro = (value: number) => BigInt(Math.round(value * 1e6));
const usd = (value: bigint) => Number(value) / 1e6;

function mechanismOf({ kind, p0, subsidyF, liquidityMaxReserveF }: UsdTrade["market"]): Mechanism {
  return { kind, fundMicro: micro(subsidyF ?? liquidityMaxReserveF ?? 0), p0Ppm: Math.round(p0 * 1e6) };
}

/** Half a unit of the last place of F, amounts and shares (1e-6), carried through a trade of these sizes. */
const CLOSE = 2e-6;

const trades = vectors.flatMap(({ id, usdTrade }) => (usdTrade ? [{ id, ...usdTrade }] : []));

function vector(id: string): Vector {
  const found = vectors.find((each) => each.id === id);
  if (!found) throw new Error(`There is no vector ${id}`);
  return found;
}

describe("published cases", () => {
  test("every case of the file is checked below", () => {
    const withoutTrade = vectors.filter(({ usdTrade }) => !usdTrade).map(({ id }) => id);
    expect(withoutTrade).toEqual(["gm-lmsr-open"]);
    expect(trades).toHaveLength(vectors.length - 1);
  });

  test.each(trades)("$id: the trade buys the published shares at the published prices", (trade) => {
    const mechanism = mechanismOf(trade.market);
    const amountMicro = micro(trade.request.amountUsd);
    const feeMicro = feeOn(amountMicro, trade.policy.feeBps);
    const { sharesMicro, pool } = buyShares(mechanism, openPool(mechanism), trade.request.side, amountMicro - feeMicro);

    expect(usd(feeMicro)).toBe(trade.expect.feeUsd);
    expect(Math.abs(usd(sharesMicro) - trade.expect.shares)).toBeLessThanOrEqual(CLOSE);
    expect(Math.abs(averagePrice(amountMicro, sharesMicro) - trade.expect.avgPriceGross)).toBeLessThanOrEqual(1e-6);
    expect(Math.abs(yesPriceOf(mechanism, pool) - trade.expect.yesPriceAfter)).toBeLessThanOrEqual(1e-7);
    if (trade.expect.poolAfter) {
      expect(Math.abs(usd(pool.yesMicro) - trade.expect.poolAfter.yes)).toBeLessThanOrEqual(CLOSE);
      expect(Math.abs(usd(pool.noMicro) - trade.expect.poolAfter.no)).toBeLessThanOrEqual(CLOSE);
    }
  });

  test.each(trades.filter(({ market }) => market.pool))("$id: p0 and F open the published pool", ({ market }) => {
    const pool = openPool(mechanismOf(market));
    expect(Math.abs(usd(pool.yesMicro) - (market.pool?.yes ?? 0))).toBeLessThan(1e-6);
    expect(Math.abs(usd(pool.noMicro) - (market.pool?.no ?? 0))).toBeLessThan(1e-6);
  });

  test("gnosis-lmsr-10: the reserves after the trade are the published ones", () => {
    const { usdTrade, exact } = vector("gnosis-lmsr-10");
    const mechanism = mechanismOf((usdTrade as UsdTrade).market);
    const { pool } = buyShares(mechanism, openPool(mechanism), "yes", micro(10));
    expect(Math.abs(usd(pool.yesMicro) - (exact.poolYes ?? 0))).toBeLessThanOrEqual(CLOSE);
    expect(usd(pool.noMicro)).toBe(exact.poolNo);
  });

  test("gm-lmsr-open: b = 100 over two outcomes takes a fund of 69.3147, and a fund of 69.3147 makes b = 100", () => {
    const subsidy = vector("gm-lmsr-open").exact.subsidyDebitedFromMaker ?? 0;
    expect(lmsrLiquidity({ fundMicro: micro(subsidy), p0Ppm: 500_000 }) / 1e6).toBeCloseTo(100, 5);
    const mechanism: Mechanism = { kind: "lmsr", fundMicro: micro(subsidy), p0Ppm: 500_000 };
    expect(openPool(mechanism)).toEqual({ yesMicro: micro(subsidy), noMicro: micro(subsidy) });
  });

  test("zeitgeist-lmsr-depth-1: the spend to reach 0.9 is 21.9722457734", () => {
    const { usdTrade, exact, input } = vector("zeitgeist-lmsr-depth-1");
    const mechanism = mechanismOf((usdTrade as UsdTrade).market);
    const spend = spendTo(mechanism, openPool(mechanism), "yes", input.targetPrice ?? 0) / 1e6;
    expect(Math.abs(spend - (exact.amountUsd ?? 0))).toBeLessThanOrEqual(CLOSE);
  });

  test("lmsr-pennock-10: ten shares at b = 100 cost 5.124948, found by searching the amount", () => {
    const { usdTrade, exact } = vector("lmsr-pennock-10");
    const mechanism = mechanismOf((usdTrade as UsdTrade).market);
    const cost = leastSpendFor(mechanism, openPool(mechanism), "yes", micro(10));
    expect(Math.abs(usd(cost) - (exact.cost ?? 0))).toBeLessThanOrEqual(CLOSE);
    const { pool } = buyShares(mechanism, openPool(mechanism), "yes", cost);
    expect(yesPriceOf(mechanism, pool)).toBeCloseTo(exact.yesPriceAfter ?? 0, 7);
  });
});

/** Bisection: shares never fall as the amount grows. */
function leastSpendFor(mechanism: Mechanism, pool: Pool, side: Side, sharesMicro: bigint): bigint {
  let [low, high] = [0n, sharesMicro];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (buyShares(mechanism, pool, side, middle).sharesMicro >= sharesMicro) high = middle;
    else low = middle;
  }
  return high;
}

describe("small trades on deep markets keep their digits", () => {
  /** b = 1e9 USD at p0 = 0.5 takes F = b·ln 2. */
  const deep: Mechanism = { kind: "lmsr", fundMicro: BigInt(Math.round(1e15 * Math.LN2)), p0Ppm: 500_000 };

  test("one cent at b = 1e9 buys 0.019999 shares: 0.0199999999999 rounded down, never 0.02", () => {
    expect(buyShares(deep, openPool(deep), "yes", 10_000n).sharesMicro).toBe(19_999n);
    expect(buyShares(deep, openPool(deep), "no", 10_000n).sharesMicro).toBe(19_999n);
  });

  test("one micro-dollar at b = 1e9 buys one micro-share, because two would be more than it is worth", () => {
    expect(buyShares(deep, openPool(deep), "yes", 1n).sharesMicro).toBe(1n);
  });
});
