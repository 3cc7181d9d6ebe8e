import { NumberText } from "../domain/json/exact-json.ts";
import { decimalFromMicro, MAX_AMOUNT_USD, usdFromMicro } from "../domain/money.ts";

const MAX_MICRO = BigInt(MAX_AMOUNT_USD) * 1_000_000n;

/**
 * The JSON number of micro-dollars or micro-shares, with each of its six decimals however large the sum. Beyond 2^33 no
 * double holds them; there it is a text that stands for itself in JSON, and calculates as a number.
 */
export function jsonFromMicro(micro: bigint): number {
  if (micro <= MAX_MICRO && micro >= -MAX_MICRO) return usdFromMicro(micro);
  return new NumberText(decimalFromMicro(micro)) as unknown as number;
}
