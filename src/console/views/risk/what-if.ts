import type { WireResult } from "../../../contract/operations.ts";
import { compareDecimals, type Decimal, decimalText, parseDecimal } from "../../../domain/decimal.ts";
import { isFulfilled } from "../../../domain/market/terms.ts";

type Item = WireResult<"listRisk">[number];
export type Risk = Pick<Item, "marketId" | "maxLiability" | "yesPayout" | "noPayout" | "stakes">;
export type Terms = NonNullable<Item["terms"]>;
/** How markets are supposed to settle, by id; the others stay as they are. */
export type Supposed = Readonly<Record<string, "yes" | "no">>;

/** What the house can lose at most, in dollars, with the markets that are supposed to settle counted by their outcome. */
export interface WorstCase {
  /** Of every market, whatever its outcome. */
  worst: number;
  /** Of the supposed outcomes; below 0 for a gain. */
  supposed: number;
  /** Of the markets without a supposed outcome. */
  rest: number;
}

/** @param worstOfAll of every market, in dollars, where the risks are only some of them */
export function worstCase(risks: readonly Risk[], supposed: Supposed, worstOfAll?: number): WorstCase {
  const sum = { worst: 0, supposed: 0, rest: 0 };
  for (const risk of risks) {
    sum.worst += micro(risk.maxLiability);
    const outcome = supposed[risk.marketId];
    if (outcome) sum.supposed += micro(lossIf(risk, outcome));
    else sum.rest += micro(risk.maxLiability);
  }
  const others = worstOfAll === undefined ? 0 : micro(worstOfAll) - sum.worst;
  return {
    worst: (sum.worst + others) / MICRO,
    supposed: sum.supposed / MICRO,
    rest: (sum.rest + others) / MICRO,
  };
}

/** What the house loses if the market settles so, in dollars: the payout less the stakes, so below 0 for a gain. */
export function lossIf({ yesPayout, noPayout, stakes = 0 }: Risk, outcome: "yes" | "no"): number {
  return (micro(outcome === "yes" ? yesPayout : noPayout) - micro(stakes)) / MICRO;
}

/** Markets that one price settles. */
export interface SymbolRisk {
  feed: string;
  risks: readonly (Risk & { terms: Terms })[];
  /** Every strike of these markets once, rising. */
  strikes: readonly Decimal[];
  /** The most that the house loses if one price settles them all, in dollars. */
  worst: number;
  /** The price at which it loses that, such as `above 100000`. */
  worstAt: string;
}

/** The risks by symbol, the largest loss first. */
export function risksBySymbol(risks: readonly (Risk & { terms?: Terms | null | undefined })[]): SymbolRisk[] {
  const settled = risks.flatMap(({ terms, ...risk }) => (terms ? [{ ...risk, terms }] : []));
  return [...Map.groupBy(settled, ({ terms }) => terms.feed)]
    .map(([feed, within]): SymbolRisk => ({ feed, risks: within, ...worstPrice(within) }))
    .toSorted((one, other) => other.worst - one.worst);
}

/** How the markets on a symbol settle at a price. */
export function supposedAt(risks: SymbolRisk["risks"], price: Decimal): Supposed {
  return Object.fromEntries(risks.map((risk) => [risk.marketId, outcomeAt(risk, price)]));
}

/** What the query of an address states, by field. */
export type Stated = Readonly<Record<string, string>>;

const SETTLES = "settles.";
const PRICE = "price.";
/** `settles.mkt_1=yes` supposes that a market settles so. */
export const settlesField = (marketId: string): string => `${SETTLES}${marketId}`;
/** `price.pm:btc=100000` supposes a price of a symbol. */
export const priceField = (feed: string): string => `${PRICE}${feed}`;

/** What is supposed of the listed markets. An outcome of a market goes before the one that a price would give it. */
export function supposedIn(stated: Stated, risks: readonly Risk[], symbols: readonly SymbolRisk[]): Supposed {
  const atPrices = symbols.map(({ feed, risks: priced }) => {
    const price = parseDecimal(stated[priceField(feed)] ?? "");
    return price ? supposedAt(priced, price) : {};
  });
  const chosen = risks.flatMap(({ marketId }) => {
    const outcome = stated[settlesField(marketId)];
    return outcome === "yes" || outcome === "no" ? [[marketId, outcome] as const] : [];
  });
  return Object.assign({}, ...atPrices, Object.fromEntries(chosen));
}

/** How many suppositions are of a market or a symbol that is not listed. */
export function unlisted(stated: Stated, risks: readonly Risk[], symbols: readonly SymbolRisk[]): number {
  const fields = [
    ...risks.map(({ marketId }) => settlesField(marketId)),
    ...symbols.map(({ feed }) => priceField(feed)),
  ];
  const listed = new Set(fields);
  return Object.keys(stated).filter((name) => (name.startsWith(SETTLES) || name.startsWith(PRICE)) && !listed.has(name))
    .length;
}

const outcomeAt = ({ terms }: { terms: Terms }, price: Decimal) => (isFulfilled(terms, price) ? "yes" : "no");

/** Tries one price below every strike, each strike, and one price above each: between them no outcome changes. */
function worstPrice(risks: SymbolRisk["risks"]): Pick<SymbolRisk, "strikes" | "worst" | "worstAt"> {
  const strikes = new Map<string, { strike: Decimal; of: SymbolRisk["risks"][number][] }>();
  for (const risk of risks)
    for (const text of [risk.terms.strike, risk.terms.upperStrike ?? []].flat()) {
      const strike = parseDecimal(text);
      if (!strike) continue;
      const known = strikes.get(decimalText(strike)) ?? { strike, of: [] };
      known.of.push(risk);
      strikes.set(decimalText(strike), known);
    }
  const rising = [...strikes].toSorted(([, one], [, other]) => compareDecimals(one.strike, other.strike));
  const losses = new Map<string, number>();
  let [total, worst, worstAt] = [0, Number.NEGATIVE_INFINITY, ""];
  /** Only markets with a strike here may have another outcome than at the price before. */
  const reach = (price: Decimal, changing: SymbolRisk["risks"], words: string): void => {
    for (const risk of changing) {
      const loss = micro(lossIf(risk, outcomeAt(risk, price)));
      total += loss - (losses.get(risk.marketId) ?? 0);
      losses.set(risk.marketId, loss);
    }
    if (total > worst) [worst, worstAt] = [total, words];
  };
  for (const [index, [text, { strike, of }]] of rising.entries()) {
    if (index === 0) reach(beside(strike, -1n), risks, `below ${text}`);
    reach(strike, of, `at ${text}`);
    reach(beside(strike, 1n), of, `above ${text}`);
  }
  return { strikes: rising.map(([, { strike }]) => strike), worst: worst / MICRO, worstAt };
}

/** Nearer than any other strike, since strikes have at most 18 decimals. */
const LESS = 22;
const beside = ({ units, scale }: Decimal, side: 1n | -1n): Decimal => ({
  units: units * 10n ** BigInt(LESS) + side,
  scale: scale + LESS,
});

/** Sums are whole numbers, so that no cent is lost. */
const MICRO = 1e6;
const micro = (dollars: number): number => Math.round(dollars * MICRO);
