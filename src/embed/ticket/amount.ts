import { MAX_AMOUNT_USD } from "../../domain/money.ts";

/** Why a text is no amount: nothing was typed, or it cannot be read as one number only. */
export type NoAmount = "empty" | "unreadable";

/** What may stand around an amount: currency, and the marks that set the direction of writing. */
const AROUND = /US\$|USD|\$|[\u200e\u200f\u061c\u2066-\u2069]/gi;
/** Characters that only ever stand between groups of digits, whatever the language. */
const GROUPING = /[\s'’ʼ٬]/g;
const SHORTEST_UNSURE = 3;

/**
 * Reads an amount of dollars or shares as people of many countries write one: 1,000.50, 1.000,50, 1 000,50 and 1'000.5,
 * in Latin, Arabic and full-width digits. A text that two countries read differently is read as the locale writes
 * numbers; one that the locale does not settle is not guessed.
 * @param locale a BCP 47 tag
 * @returns millionths
 */
export function amountIn(text: string, locale: string): bigint | NoAmount {
  const plain = latin(text).replace(AROUND, "").trim();
  if (plain === "") return "empty";
  const found = /^(\d[\d.,٫_]*|[.,٫]\d+)$/.exec(plain.replace(GROUPING, "_"))?.[1];
  const parts = found === undefined ? undefined : split(found, separatorsOf(locale));
  return parts === undefined ? "unreadable" : microOf(parts);
}

/** Millionths as the locale writes them, without groups: a text for a field, which {@link amountIn} reads back. */
export function amountText(micro: bigint, locale: string): string {
  const fraction = `${micro % 1_000_000n}`.padStart(6, "0").replace(/0+$/, "");
  const whole = `${micro / 1_000_000n}`;
  return fraction === "" ? whole : `${whole}${separatorsOf(locale).decimal}${fraction}`;
}

interface Parts {
  whole: string;
  fraction: string;
}

interface Separators {
  decimal: string;
  group: string;
}

function split(text: string, { decimal, group }: Separators): Parts | undefined {
  const kinds = [...new Set(text.match(/[.,٫_]/g) ?? [])];
  const last = kinds.length === 0 ? undefined : text.at(Math.max(...kinds.map((kind) => text.lastIndexOf(kind))));
  if (last === undefined) return { whole: text, fraction: "" };
  const pieces = text.split(last);
  if (last === "_" || pieces.length > 2) return kinds.length === 1 ? grouped(text, last) : undefined;
  const [before = "", fraction = ""] = pieces;
  if (
    kinds.length === 1 &&
    last !== decimal &&
    last !== "٫" &&
    fraction.length >= SHORTEST_UNSURE &&
    !/^0?$/.test(before)
  )
    return last === group ? grouped(text, last) : undefined;
  const [other] = kinds.filter((kind) => kind !== last);
  if (kinds.length > 2) return undefined;
  const whole = other === undefined ? { whole: before, fraction: "" } : grouped(before, other);
  return whole && { whole: whole.whole, fraction };
}

/** A whole number in groups of three. */
function grouped(text: string, separator: string): Parts | undefined {
  const [first = "", ...rest] = text.split(separator);
  const isWellFormed = /^[1-9]\d{0,2}$/.test(first) && rest.every((group) => /^\d{3}$/.test(group));
  return isWellFormed ? { whole: first + rest.join(""), fraction: "" } : undefined;
}

function microOf({ whole, fraction }: Parts): bigint | NoAmount {
  const decimals = fraction.replace(/0+$/, "");
  if (decimals.length > 6) return "unreadable";
  const micro = BigInt(whole === "" ? "0" : whole) * 1_000_000n + BigInt(decimals.padEnd(6, "0"));
  return micro > BigInt(MAX_AMOUNT_USD) * 1_000_000n ? "unreadable" : micro;
}

/** Full-width characters and Arabic or Persian digits as Latin ones. */
function latin(text: string): string {
  return text.normalize("NFKC").replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => `${digit.charCodeAt(0) & 15}`);
}

function separatorsOf(locale: string): Separators {
  const parts = new Intl.NumberFormat(new Intl.Locale(locale, { numberingSystem: "latn" })).formatToParts(1_234_567.5);
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? "";
  return { decimal: of("decimal") || ".", group: of("group") };
}
