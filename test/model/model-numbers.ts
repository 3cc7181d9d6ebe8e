/** Plain integer arithmetic for the naive model: money as micro-dollars, and logarithms in fixed point. */

/** One dollar, or one share, in micro-units. */
export const ONE = 1_000_000n;

/** The largest amount that the interface takes: 2^33 US dollars. */
export const MAX_MICRO = 2n ** 33n * ONE;

/** The micro-units of a JSON number, or undefined when it has more than six decimals. Read from its decimal text. */
export function microOf(value: number): bigint | undefined {
  if (!Number.isFinite(value)) return undefined;
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value));
  if (!match) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const shift = 6 - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  const divisor = shift < 0 ? 10n ** BigInt(-shift) : 1n;
  if (digits % divisor !== 0n) return undefined;
  const micro = shift < 0 ? digits / divisor : digits * 10n ** BigInt(shift);
  return sign ? -micro : micro;
}

/** The JSON number of micro-units. */
export const usd = (micro: bigint): number => Number(decimal(micro));

/** Plain decimal text without trailing zeros, as the audit log writes amounts. */
export function decimal(micro: bigint): string {
  const digits = (micro < 0n ? -micro : micro).toString().padStart(7, "0");
  const text = `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, "");
  return micro < 0n ? `-${text}` : text;
}

export const sum = (values: Iterable<bigint>): bigint => [...values].reduce((total, value) => total + value, 0n);
export const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** a/b rounded up, for positive numbers. */
export const ceilDivide = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;

/** a/b rounded down, negative numbers too. */
export const floorDivide = (a: bigint, b: bigint): bigint => (a < 0n && a % b !== 0n ? a / b - 1n : a / b);

/** The largest integer whose square is at most n. */
export function squareRoot(n: bigint): bigint {
  if (n < 2n) return n;
  let root = 1n << BigInt((n.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (root + n / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** Fixed point: a number is an integer of 2^-160. */
const BITS = 160n;
export const FIXED = 1n << BITS;

export const fixedDivide = (a: bigint, b: bigint): bigint => (a << BITS) / b;
export const fixedMultiply = (a: bigint, b: bigint): bigint => (a * b) >> BITS;

/** 2·artanh(x) for |x| <= 1/3, by its series. */
function logOfQuotient(x: bigint): bigint {
  const square = fixedMultiply(x, x);
  let total = 0n;
  for (let term = x, n = 1n; term !== 0n && term !== -1n; term = fixedMultiply(term, square), n += 2n)
    total += term / n;
  return 2n * total;
}

const LN2 = logOfQuotient(FIXED / 3n);

/** ln(x) for a positive x in fixed point: x = m·2^k with m next to 1, and ln m = 2·artanh((m-1)/(m+1)). */
export function ln(x: bigint): bigint {
  const k = BigInt(x.toString(2).length) - 1n - BITS;
  const m = k >= 0n ? x >> k : x << -k;
  return k * LN2 + logOfQuotient(fixedDivide(m - FIXED, m + FIXED));
}

/** e^x in fixed point: x = k·ln 2 + r, and e^r by its series. */
export function exp(x: bigint): bigint {
  const k = floorDivide(x, LN2);
  const r = x - k * LN2;
  let total = FIXED;
  for (let term = r, n = 2n; term !== 0n; term = fixedMultiply(term, r) / n, n += 1n) total += term;
  return k >= 0n ? total << k : total >> -k;
}
