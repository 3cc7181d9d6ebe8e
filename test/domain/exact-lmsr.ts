import type { Mechanism, Side } from "../../src/domain/market/market.ts";
import type { Pool } from "../../src/domain/market/pool.ts";

/**
 * The logarithmic market in fixed-point integers with 70 decimals, from Hanson's definition: the sum of e^(-reserve/b)
 * stays what it is. It shares no formula with src/, so the two can only agree by both being right.
 */
const ONE = 10n ** 70n;

const times = (a: bigint, b: bigint) => (a * b) / ONE;

/** e^x by the Taylor series of x / 2^24, squared 24 times. */
function exp(x: bigint): bigint {
  const small = x >> 24n;
  let term = ONE;
  let sum = ONE;
  for (let n = 1n; term !== 0n && term !== -1n; n++) {
    term = times(term, small) / n;
    sum += term;
  }
  for (let squaring = 0; squaring < 24; squaring++) sum = times(sum, sum);
  return sum;
}

/** ln x by Halley's method from the double's logarithm: each step triples the correct digits. */
function ln(x: bigint): bigint {
  let y = BigInt(Math.round(Math.log(Number(x) / Number(ONE)) * 2 ** 52)) * (ONE / 2n ** 52n);
  for (let step = 0; step < 3; step++) {
    const power = exp(y);
    y += (2n * (x - power) * ONE) / (x + power);
  }
  return y;
}

/** b in micro-dollars, scaled: F / max(-ln p0, -ln(1 - p0)). */
function depth({ fundMicro, p0Ppm }: Mechanism): bigint {
  const p0 = (BigInt(p0Ppm) * ONE) / 1_000_000n;
  const scarcer = p0 < ONE - p0 ? p0 : ONE - p0;
  return (fundMicro * ONE * ONE) / -ln(scarcer);
}

/** The whole micro-shares that `netMicro` buys at most: the exact number, rounded down. */
export function exactShares(mechanism: Mechanism, pool: Pool, side: Side, netMicro: bigint): bigint {
  const b = depth(mechanism);
  const own = side === "yes" ? pool.yesMicro : pool.noMicro;
  const opposite = side === "yes" ? pool.noMicro : pool.yesMicro;
  const weight = (reserve: bigint) => exp((-reserve * ONE * ONE) / b);
  const sum = weight(own) + weight(opposite);
  const ownAfter = times(-b, ln(sum - weight(opposite + netMicro)));
  return ((own + netMicro) * ONE - ownAfter) / ONE;
}
