/**
 * An exact decimal number: `units` / 10^`scale`. Prices and strikes are never doubles, so "exactly at the strike" is
 * exact.
 */
export interface Decimal {
  units: bigint;
  scale: number;
}

const NUMBER = /^(-?)(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/;
/** Far beyond every price: a broken feed must not cause computations with thousands of digits. */
const LONGEST_EXPONENT = 40;

/** Reads a plain or exponential decimal, as JSON and sources write it; undefined for others ("1,234.5", "NaN"). */
export function parseDecimal(text: string): Decimal | undefined {
  const match = NUMBER.exec(text);
  if (!match) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const units = BigInt(`${sign}${whole}${fraction}`);
  return scaleByTen({ units, scale: fraction.length }, Number(exponent));
}

/** Times 10^`power`; undefined for an implausible power. */
export function scaleByTen({ units, scale }: Decimal, power: number): Decimal | undefined {
  if (!Number.isInteger(power) || Math.abs(power) > LONGEST_EXPONENT) return undefined;
  const moved = scale - power;
  return normalize(moved >= 0 ? { units, scale: moved } : { units: units * 10n ** BigInt(-moved), scale: 0 });
}

function normalize({ units, scale }: Decimal): Decimal {
  let [shorter, places] = [units, scale];
  while (places > 0 && shorter % 10n === 0n) {
    shorter /= 10n;
    places -= 1;
  }
  return { units: shorter, scale: places };
}

/** Plain text without trailing zeros: "100000", "-37.63". */
export function decimalText(value: Decimal): string {
  const { units, scale } = normalize(value);
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, "0");
  const cut = digits.length - scale;
  return `${units < 0n ? "-" : ""}${digits.slice(0, cut)}${scale === 0 ? "" : `.${digits.slice(cut)}`}`;
}

/** The decimal with which a double is printed. */
export function decimalFromNumber(value: number): Decimal | undefined {
  return parseDecimal(String(value));
}

function aligned(a: Decimal, b: Decimal): [a: bigint, b: bigint, scale: number] {
  const scale = Math.max(a.scale, b.scale);
  return [a.units * 10n ** BigInt(scale - a.scale), b.units * 10n ** BigInt(scale - b.scale), scale];
}

/** Negative, zero or positive, as for `toSorted`. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const [left, right] = aligned(a, b);
  return left < right ? -1 : left > right ? 1 : 0;
}

export function subtractDecimals(a: Decimal, b: Decimal): Decimal {
  const [left, right, scale] = aligned(a, b);
  return normalize({ units: left - right, scale });
}

function addDecimals(a: Decimal, b: Decimal): Decimal {
  return subtractDecimals(a, { units: -b.units, scale: b.scale });
}

export function multiplyDecimals(a: Decimal, b: Decimal): Decimal {
  return normalize({ units: a.units * b.units, scale: a.scale + b.scale });
}

export function absoluteDecimal({ units, scale }: Decimal): Decimal {
  return { units: units < 0n ? -units : units, scale };
}

/** The middle value; for an even number of values the exact mean of the middle two. */
export function medianOf(values: readonly [Decimal, ...Decimal[]]): Decimal {
  const sorted = values.toSorted(compareDecimals);
  const upper = sorted[sorted.length >> 1] ?? values[0];
  const lower = sorted[(sorted.length - 1) >> 1] ?? values[0];
  return multiplyDecimals(addDecimals(lower, upper), { units: 5n, scale: 1 });
}

/** Decimal places of a mean beyond those of its prices. */
const MEAN_PLACES = 12;

/** The weighted mean, rounded half away from zero; undefined if the weights sum to zero. */
export function weightedMean(parts: readonly { value: Decimal; weight: bigint }[]): Decimal | undefined {
  const weights = parts.reduce((sum, { weight }) => sum + weight, 0n);
  if (weights <= 0n) return undefined;
  const total = parts.reduce<Decimal>(
    (sum, { value, weight }) => addDecimals(sum, multiplyDecimals(value, { units: weight, scale: 0 })),
    { units: 0n, scale: 0 },
  );
  const scale = total.scale + MEAN_PLACES;
  const numerator = total.units * 10n ** BigInt(MEAN_PLACES);
  const half = numerator < 0n ? -weights : weights;
  return normalize({ units: (2n * numerator + half) / (2n * weights), scale });
}
