import { buyShares, type Mechanism, openPool, pricesOf, type Side } from "../../../domain/market/market.ts";
import { MARKET_KINDS, type MarketKind } from "../../../domain/market/market-makers.ts";
import { isPriceAllowed, microFromUsd, usdFromMicro } from "../../../domain/money.ts";
import type { Curve, Point } from "../../parts/curve.ts";

/** How a market would begin. */
export interface Opening {
  /** What the treasury gives, which is the most that the house can lose. */
  liquidityUsd: number;
  yes: number;
  no: number;
  /** What a purchase of this much would get of each side, before the fee. */
  sample: { spentUsd: number; yes: Purchase; no: Purchase };
  /** The price of each side after spending on it. */
  curves: Curve[];
}

interface Purchase {
  shares: number;
  priceAfter: number;
}

const STEPS = 40;
/** The curve ends where both kinds are near their bounds. */
const SPENT_BY_LIQUIDITY = 2;
const SAMPLE_USD = 100;

/**
 * The opening of a market with the given kind, first price and liquidity.
 * @param usualUsd the tenant's liquidity, for a market that states none
 * @returns undefined until the values make a market
 */
export function openingOf(
  { kind, p0 = "", liquidity = "" }: Readonly<Record<string, string>>,
  usualUsd: number | undefined,
): Opening | undefined {
  const price = Number(p0);
  const fundMicro = microFromUsd(liquidity === "" ? (usualUsd ?? 0) : Number(liquidity));
  if (!isKind(kind) || p0 === "" || !isPriceAllowed(price) || fundMicro === undefined || fundMicro <= 0n)
    return undefined;
  const mechanism: Mechanism = { kind, fundMicro, p0Ppm: Math.round(price * 1e6) };
  const pool = openPool(mechanism);
  if (pool.yesMicro === 0n || pool.noMicro === 0n) return undefined;
  const buy = (side: Side, spentMicro: bigint): Purchase => {
    const bought = spentMicro === 0n ? { sharesMicro: 0n, pool } : buyShares(mechanism, pool, side, spentMicro);
    return { shares: usdFromMicro(bought.sharesMicro), priceAfter: pricesOf(mechanism, bought.pool)[side] };
  };
  const spent = Array.from(
    { length: STEPS + 1 },
    (_, step) => (fundMicro * BigInt(SPENT_BY_LIQUIDITY * step)) / BigInt(STEPS),
  );
  const curve = (name: string, side: Side, color: string): Curve => ({
    name,
    color,
    points: spent.map((micro): Point => [usdFromMicro(micro), buy(side, micro).priceAfter]),
  });
  const sampleMicro = BigInt(SAMPLE_USD) * 1_000_000n;
  return {
    liquidityUsd: usdFromMicro(fundMicro),
    ...pricesOf(mechanism, pool),
    sample: { spentUsd: SAMPLE_USD, yes: buy("yes", sampleMicro), no: buy("no", sampleMicro) },
    curves: [curve("Yes", "yes", "--accent"), curve("No", "no", "--warn")],
  };
}

function isKind(text: string | undefined): text is MarketKind {
  return MARKET_KINDS.some((kind) => kind === text);
}
