import { NumberText } from "../domain/json/exact-json.ts";
import { decimalFromMicro, MAX_AMOUNT_USD, usdFromMicro } from "../domain/money.ts";

const MAX_MICRO = BigInt(MAX_AMOUNT_USD) * 1_000_000n;

/**
 * Micro-dollars or micro-shares as a JSON number with all six decimals, however large the sum. A double cannot hold
 * them beyond 2^33. There the result is an object that JSON writes as its digits and arithmetic reads as a number.
 */
export function jsonFromMicro(micro: bigint): number {
  if (micro <= MAX_MICRO && micro >= -MAX_MICRO) return usdFromMicro(micro);
  return new NumberText(decimalFromMicro(micro)) as unknown as number;
}
