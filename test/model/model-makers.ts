import { OneOf } from "./match.ts";
import {
  ceilDivide,
  exp,
  FIXED,
  fixedDivide,
  fixedMultiply,
  floorDivide,
  larger,
  ln,
  ONE,
  squareRoot,
} from "./model-numbers.ts";

/** Both market makers over their pools of YES and NO micro-shares: cpmm in integers, lmsr in fixed point. */

export type Side = "yes" | "no";

export interface Maker {
  kind: "cpmm" | "lmsr";
  /** F, micro-dollars. */
  fund: bigint;
  /** The opening YES probability, millionths. */
  p0: bigint;
  yes: bigint;
  no: bigint;
}

/** What a trade may come to: more than one where rounding leaves a choice of a micro. */
export interface Fill {
  /** Micro-shares of a purchase, micro-dollars of a sale. */
  out: bigint;
  pool: Pick<Maker, "yes" | "no">;
}

/** The opening pool: F·(min(1,(1-p0)/p0), min(1,p0/(1-p0))) for cpmm, -b·ln P of each side for lmsr. */
export function openMaker(kind: Maker["kind"], fund: bigint, p0: bigint): Maker {
  const q0 = ONE - p0;
  const maker = { kind, fund, p0, yes: fund, no: fund };
  if (kind === "cpmm")
    return { ...maker, yes: p0 > q0 ? (fund * q0) / p0 : fund, no: q0 > p0 ? (fund * p0) / q0 : fund };
  const reserve = (price: bigint) => ceilFixed((-liquidity(maker) * ln((price * FIXED) / ONE)) >> 160n);
  return { ...maker, yes: p0 > q0 ? reserve(p0) : fund, no: q0 > p0 ? reserve(q0) : fund };
}

/** b of the logarithmic rule, micro-dollars in fixed point: the loss b·max(-ln p0, -ln(1-p0)) is F. */
function liquidity({ fund, p0 }: Pick<Maker, "fund" | "p0">): bigint {
  const log = (price: bigint) => -ln((price * FIXED) / ONE);
  return fixedDivide(fund * FIXED, larger(log(p0), log(ONE - p0)));
}

const floorFixed = (x: bigint): bigint => x >> 160n;
const ceilFixed = (x: bigint): bigint => -(-x >> 160n);

const split = (maker: Pick<Maker, "yes" | "no">, side: Side): [own: bigint, opposite: bigint] =>
  side === "yes" ? [maker.yes, maker.no] : [maker.no, maker.yes];
const poolOf = (side: Side, own: bigint, opposite: bigint): Fill["pool"] =>
  side === "yes" ? { yes: own, no: opposite } : { yes: opposite, no: own };

/** Beyond e^200 the price is at its end to sixty digits, whatever comes after. */
const FARTHEST = 200n * FIXED;

/** (1-P)/P of a side of an lmsr pool: e^((own - opposite)/b). */
function odds(maker: Maker, side: Side): bigint {
  const [own, opposite] = split(maker, side);
  const exponent = fixedDivide((own - opposite) * FIXED, liquidity(maker));
  return exp(exponent > FARTHEST ? FARTHEST : exponent < -FARTHEST ? -FARTHEST : exponent);
}

/** The fills of a purchase with `net` micro-dollars, the likeliest first. */
export function buy(maker: Maker, side: Side, net: bigint): Fill[] {
  const [own, opposite] = split(maker, side);
  const fill = (out: bigint): Fill => ({ out, pool: poolOf(side, own + net - out, opposite + net) });
  if (maker.kind === "cpmm") return [fill(own + net - ceilDivide(own * opposite, opposite + net))];
  // a + b·ln(1 + (1-P)/P·(1 - e^(-a/b))), rounded against the trader by at most one micro.
  const b = liquidity(maker);
  const spent = FIXED - exp(-fixedDivide(net * FIXED, b));
  const out = floorFixed(net * FIXED + fixedMultiply(b, ln(FIXED + fixedMultiply(odds(maker, side), spent))));
  return [fill(out), fill(out - 1n)];
}

/** The fills of a sale of `shares`: the complete sets that are burned, before the fee. */
export function sell(maker: Maker, side: Side, shares: bigint): Fill[] {
  const [own, opposite] = split(maker, side);
  const fill = (out: bigint): Fill => ({ out, pool: poolOf(side, own + shares - out, opposite - out) });
  if (maker.kind === "cpmm") {
    const total = own + opposite + shares;
    const square = total * total - 4n * shares * opposite;
    const root = squareRoot(square);
    return [fill((total - (root * root === square ? root : root + 1n)) / 2n)];
  }
  // -b·ln(1 - P + P·e^(-s/b)), with P = 1/(1 + odds).
  const b = liquidity(maker);
  const price = fixedDivide(FIXED, FIXED + odds(maker, side));
  const kept = exp(-fixedDivide(shares * FIXED, b));
  const out = floorFixed(-fixedMultiply(b, ln(FIXED - price + fixedMultiply(price, kept))));
  return [fill(out), fill(out - 1n)];
}

/** The YES price as a quotient of integers. */
export function yesPrice(maker: Maker): { numerator: bigint; denominator: bigint } {
  if (maker.kind === "cpmm") return { numerator: maker.no, denominator: maker.yes + maker.no };
  return { numerator: FIXED, denominator: FIXED + odds(maker, "yes") };
}

/** A quotient in millionths, rounded to the nearest; both neighbours where it is too close to a tie for a double. */
export function millionths(numerator: bigint, denominator: bigint): bigint[] {
  const fine = (numerator * ONE * 2_000_000_000n) / denominator;
  const [below, above] = [-1n, 1n].map((nudge) => floorDivide(fine + nudge + 1_000_000_000n, 2_000_000_000n)) as [
    bigint,
    bigint,
  ];
  const nearest = floorDivide(fine + 1_000_000_000n, 2_000_000_000n);
  return below === above ? [nearest] : [above, below];
}

/** A price on the wire: six decimals. */
export function priceOf(numerator: bigint, denominator: bigint): number | OneOf {
  const [first = 0n, ...others] = millionths(numerator, denominator).map((ppm) => Number(ppm) / 1e6);
  return others.length === 0 ? Number(first) : new OneOf([first, ...others]);
}

/** The YES price in millionths. */
export function yesMillionths(maker: Maker): bigint {
  const { numerator, denominator } = yesPrice(maker);
  return millionths(numerator, denominator)[0] ?? 0n;
}

/** Whether a pool's price is within the bounds of 0.001 to 0.999; undefined when it is too close to tell. */
export function isWithinBounds(maker: Maker): boolean | undefined {
  const { numerator, denominator } = yesPrice(maker);
  const at = (numerator * 10n ** 18n) / denominator;
  const [low, high] = [10n ** 15n, 999n * 10n ** 15n];
  if ([low, high].some((bound) => at - bound < 100n && bound - at < 100n)) {
    const exact = maker.kind === "cpmm" && [1n, 999n].some((bound) => numerator * 1000n === bound * denominator);
    return exact ? true : undefined;
  }
  return at > low && at < high;
}

/** Net micro-dollars in fixed point that lift a side's price to `target` millionths. */
export function spendTo(maker: Maker, side: Side, target: bigint): bigint {
  const [own, opposite] = split(maker, side);
  if (maker.kind === "cpmm") {
    const square = (own * opposite * target * FIXED * FIXED) / (ONE - target);
    return squareRoot(square) - opposite * FIXED;
  }
  const o = odds(maker, side);
  // b·ln((1-P)/(1-t)), with 1-P = odds/(1 + odds).
  const left = fixedDivide(o, FIXED + o);
  return fixedMultiply(liquidity(maker), ln(fixedDivide(left, ((ONE - target) * FIXED) / ONE)));
}
