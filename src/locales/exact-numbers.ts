import { inOneDirection, UNITS, withLatinDigits } from "./formats.ts";

/** A plain decimal with all its digits, as the language writes numbers. Only the server needs these two. */
export function decimalIn(locale: string, text: string): string {
  const format = new Intl.NumberFormat(withLatinDigits(locale), { maximumFractionDigits: 20 });
  return format.format(text as Intl.StringNumericLiteral);
}

/** "90 seconds", "1 hour": the largest unit that divides these milliseconds, which are whole seconds. */
export function spanIn(locale: string, ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms % each === 0) ?? (["second", 1000] as const);
  const format = new Intl.NumberFormat(withLatinDigits(locale), { style: "unit", unit, unitDisplay: "long" });
  return inOneDirection(format.format(ms / size));
}
