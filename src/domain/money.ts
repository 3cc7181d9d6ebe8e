/*
 * Money is in micro-dollars (1e-6 USD) and shares are in micro-shares, both as bigint. JSON numbers exist only at the edge,
 * where this file converts them. A winning share pays one dollar, so a micro-share settles to exactly a micro-dollar.
 */

/**
 * The largest amount that JSON carries without loss: 2^33 dollars. Below it, neighbouring doubles differ by 2^-20, less
 * than a micro-dollar, so no two amounts share a number. Above it they differ by 2^-19, and some amounts do.
 */
export const MAX_AMOUNT_USD = 2 ** 33;

/** No trade may leave a market's price outside these bounds. */
export const MIN_PRICE = 0.001;
export const MAX_PRICE = 0.999;

/** Whether a trade may leave the unrounded YES price at this value. */
export function isPriceAllowed(yesPrice: number): boolean {
  return yesPrice >= MIN_PRICE && yesPrice <= MAX_PRICE;
}

/** @returns the micro-dollars of a decimal number; undefined if it has more than six decimals or is too large */
export function microFromUsd(usd: number): bigint | undefined {
  if (!Number.isFinite(usd) || Math.abs(usd) > MAX_AMOUNT_USD) return undefined;
  const whole = Math.trunc(usd);
  // Multiplies only the fraction: above four billion the whole product would not round to the right micro-dollar.
  const micro = whole * 1e6 + Math.round((usd - whole) * 1e6);
  // The division gives the double nearest to the six-decimal value, which equals `usd` exactly if `usd` has six decimals.
  return micro / 1e6 === usd ? BigInt(micro) : undefined;
}

/** The micro-dollars of a limit, rounded down: further decimals must not switch the limit off. */
export function limitFromUsd(usd: number): bigint {
  return microFromUsd(usd) ?? BigInt(Math.floor(usd * 1e6));
}

/** The JSON number of micro-dollars or micro-shares. Exact to six decimals up to {@link MAX_AMOUNT_USD}. */
export function usdFromMicro(micro: bigint): number {
  return Number(micro) / 1e6;
}

/** Whole cents, rounded towards zero: the interface's "minor units". */
export function centsFromMicro(micro: bigint): number {
  return Number(micro / 10_000n);
}

const ZERO = "0".charCodeAt(0);

/** Plain decimal text without trailing zeros ("25", "0.05"), as in audit payloads. */
export function decimalFromMicro(micro: bigint): string {
  if (micro < 0n) return `-${decimalFromMicro(-micro)}`;
  const digits = micro.toString().padStart(7, "0");
  const point = digits.length - 6;
  let end = digits.length;
  while (end > point && digits.charCodeAt(end - 1) === ZERO) end -= 1;
  return end === point ? digits.slice(0, point) : `${digits.slice(0, point)}.${digits.slice(point, end)}`;
}

/** The micro-dollars of a text from {@link decimalFromMicro}. */
export function microFromDecimal(text: string): bigint {
  const point = text.indexOf(".");
  // Below a billion dollars, a double and its product with a million are off by less than a quarter of a micro-dollar.
  if ((point < 0 ? text.length : point) <= 9) return BigInt(Math.round(Number(text) * 1e6));
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(`${whole}${fraction.padEnd(6, "0")}`);
}

/** The house's fee on a gross amount, rounded up to a micro-dollar (against the trader). */
export function feeOn(amountMicro: bigint, feeBps: number): bigint {
  return (amountMicro * BigInt(feeBps) + 9_999n) / 10_000n;
}

/** Six decimals, the resolution of every price in the interface. */
export function roundPrice(price: number): number {
  return Math.round(price * 1e6) / 1e6;
}

/** The sum of dollars as the interface states them, without the noise of adding doubles. */
export function sumOf(...dollars: number[]): number {
  return roundPrice(dollars.reduce((sum, each) => sum + each, 0));
}

/** The price per share with six decimals. Prices are below one, so the rounding of the double quotient never shows. */
export function averagePrice(paidMicro: bigint, sharesMicro: bigint): number {
  return sharesMicro === 0n ? 0 : roundPrice(Number(paidMicro) / Number(sharesMicro));
}
