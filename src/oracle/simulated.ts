import { type Decimal, parseDecimal } from "../domain/decimal.ts";
import { invariant } from "../domain/fault.ts";
import type { SimulatedSource } from "../domain/feeds/source.ts";
import { DAY_MS } from "../domain/time/units.ts";

/** Waves of a day, of hours and of minutes; their sum looks like a market and stays within bounds. */
const PERIODS_MS = [DAY_MS, DAY_MS / 7, DAY_MS / 41, DAY_MS / 233] as const;
const PLACES = 6;

/** The invented price at any instant, past or future: the same for the same seed and symbol on every machine. */
export function simulatedPrice({ start, volatility, seed }: SimulatedSource, symbol: string, instant: number): Decimal {
  const wave = PERIODS_MS.reduce((sum, period, index) => {
    const phase = mix(`${seed}/${symbol}/${index}`);
    return sum + Math.sin((instant / period + phase) * 2 * Math.PI) / (index + 1);
  }, 0);
  const price = parseDecimal((start * Math.exp((volatility * wave) / 2)).toFixed(PLACES));
  invariant(price, "a simulated price is a decimal");
  return price;
}

/** A number from 0 to 1 that depends on every character (FNV-1a, 32 bits). */
function mix(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0) / 2 ** 32;
}
