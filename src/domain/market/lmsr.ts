import { type Bought, type Opening, type Pool, poolOf, type Side, type Sold, split } from "./pool.ts";

/**
 * Hanson's logarithmic market scoring rule, kept as complete sets. With reserves r = -b·ln(P) the pool holds shares
 * instead of a cost function, and escrow, minting and settlement work as for the constant product.
 */

/** Hanson's liquidity parameter b in micro-dollars: the house can lose b·max(-ln p0, -ln(1-p0)), which is set equal to F. */
export function lmsrLiquidity({ fundMicro, p0Ppm }: Opening): number {
  const p0 = p0Ppm / 1e6;
  return Number(fundMicro) / Math.max(-Math.log(p0), -Math.log1p(-p0));
}

/** The opening pool: the scarcer side's reserve is F itself; the other is rounded up in favour of the pool. */
export function openLmsr(fundMicro: bigint, p0Ppm: number): Pool {
  const b = lmsrLiquidity({ fundMicro, p0Ppm });
  const p0 = p0Ppm / 1e6;
  const reserve = (logPrice: number) => BigInt(Math.ceil(-b * logPrice));
  return {
    yesMicro: p0 <= 0.5 ? fundMicro : reserve(Math.log(p0)),
    noMicro: p0 >= 0.5 ? fundMicro : reserve(Math.log1p(-p0)),
  };
}

/** P = e^(-y/b) / (e^(-y/b) + e^(-n/b)), computed from the difference, so that a rounding surplus on both sides cancels out. */
export function lmsrYesPrice(b: number, pool: Pool): number {
  return 1 / (1 + Math.exp(Number(pool.yesMicro - pool.noMicro) / b));
}

/**
 * Spending a raises the side's price P to P' = 1 - (1-P)·e^(-a/b); the shares are a + b·ln(P'/P). With expm1 and log1p
 * a small trade keeps its digits and a large trade cannot overflow.
 */
export function buyLmsr(b: number, pool: Pool, side: Side, netMicro: bigint): Bought {
  const [own, opposite] = split(pool, side);
  // (1-P)/P of the bought side, straight from the reserves: computing 1 - P would lose digits near the bounds.
  const odds = Math.exp(Number(own - opposite) / b);
  const net = Number(netMicro);
  const shares = net + b * Math.log1p(-Math.expm1(-net / b) * odds);
  // Subtracts a few units in the last place before rounding down, so that rounding never favours the trader.
  const sharesMicro = BigInt(Math.floor(shares * (1 - 2 ** -50)));
  return { sharesMicro, pool: poolOf(side, own + netMicro - sharesMicro, opposite + netMicro) };
}

/**
 * Selling s shares returns b·ln((odds + 1) / (odds + e^(-s/b))), with odds = (1-P)/P of the sold side. This equals
 * -b·ln(1 - P + P·e^(-s/b)), written so that no digits cancel.
 */
export function sellLmsr(b: number, pool: Pool, side: Side, sharesMicro: bigint): Sold {
  const [own, opposite] = split(pool, side);
  const odds = Math.exp(Number(own - opposite) / b);
  const x = -Number(sharesMicro) / b;
  const proceeds = b * Math.log1p(-Math.expm1(x) / (odds + Math.exp(x)));
  // As in a purchase, but here the error of the odds counts fully.
  const proceedsMicro = BigInt(Math.floor(proceeds * (1 - 2 ** -48)));
  return { proceedsMicro, pool: poolOf(side, own + sharesMicro - proceedsMicro, opposite - proceedsMicro) };
}

/** Net micro-dollars that move the side's price to `target`: b·ln((1-P)/(1-t)). Zero or negative if it is already there. */
export function lmsrSpendTo(b: number, pool: Pool, side: Side, target: number): number {
  const [own, opposite] = split(pool, side);
  const price = 1 / (1 + Math.exp(Number(own - opposite) / b));
  return b * (Math.log1p(-price) - Math.log1p(-target));
}
