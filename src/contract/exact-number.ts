import { decimalFromMicro, MAX_AMOUNT_USD, usdFromMicro } from "../domain/money.ts";

/** Of JavaScript, and not yet of TypeScript's library: a value that `JSON.stringify` writes as the text it was made of. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON: (text: string) => object;
  isRawJSON: (value: unknown) => value is { rawJSON: string };
};
const MAX_MICRO = BigInt(MAX_AMOUNT_USD) * 1_000_000n;
let everMade = false;

/**
 * The JSON number of micro-dollars or micro-shares, with each of its six decimals however large the sum. Beyond 2^33 no
 * double holds them; there it is a text that stands for itself in JSON, and {@link withPlainNumbers} reads as a number.
 */
export function jsonFromMicro(micro: bigint): number {
  if (micro <= MAX_MICRO && micro >= -MAX_MICRO) return usdFromMicro(micro);
  everMade = true;
  return rawJSON(decimalFromMicro(micro)) as unknown as number;
}

/** The text of a number that no double holds; undefined for any other value. */
export function exactText(value: unknown): string | undefined {
  return everMade && isRawJSON(value) ? value.rawJSON : undefined;
}

/** A value in wire form with doubles for such numbers, as whoever parses its JSON gets it. */
export function withPlainNumbers<Value>(value: Value): Value {
  return everMade ? (JSON.parse(JSON.stringify(value) ?? "null") as Value) : value;
}
