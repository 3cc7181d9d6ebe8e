import { canonicalJson, type Json } from "../audit/audit-link.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../decimal.ts";
import { invariant } from "../fault.ts";
import { parseReference, type Reference, type ReferenceProblem } from "../reference.ts";

/** What decides a market, frozen at its creation: later changes of files do not affect it. */
export interface MarketTerms extends Omit<Reference, "instant"> {
  /** The deciding instant, milliseconds since the epoch. */
  instant: number;
  /** SHA-256 of the feed's definition at creation. The market is held if the definition has changed since. */
  feedSha256: string;
}

/** Hashes of the definitions of all feeds, by feed key. */
export type FeedHashes = ReadonlyMap<string, string>;

export type TermsOutcome =
  | { kind: "terms"; terms: MarketTerms }
  | { kind: "text" }
  | { kind: "problem"; problem: ReferenceProblem };

/**
 * The terms by which the oracle settles a market. A feed key alone takes strike and comparator from `meta`. Free text
 * gives `text`: a person settles the market. A `problem` is a text that begins like a feed but does not parse, which is
 * legal but probably a mistake.
 */
export function termsOf(
  market: { resolutionRef: string; meta: Readonly<Record<string, unknown>>; closeAt: number },
  feeds: FeedHashes,
): TermsOutcome {
  const { resolutionRef, meta, closeAt } = market;
  let parsed = parseReference(resolutionRef);
  if (parsed.kind === "key") {
    const { strike, comparator = ">" } = meta;
    if (!isScalar(strike) || !isScalar(comparator))
      return problem(resolutionRef.length, "a feed key alone needs meta.strike (and meta.comparator, by default >)");
    parsed = parseReference(`${parsed.feed} ${comparator} ${strike}`);
    if (parsed.kind !== "reference")
      return problem(resolutionRef.length, "meta.strike and meta.comparator do not form a condition");
  }
  if (parsed.kind === "text") return { kind: "text" };
  const feed = parsed.kind === "reference" ? parsed.reference.feed : parsed.feed;
  const feedSha256 = feeds.get(feed);
  if (feedSha256 === undefined) return problem(0, `there is no feed ${feed}`);
  if (parsed.kind !== "reference")
    return parsed.kind === "problem" ? { kind: "problem", problem: parsed.problem } : { kind: "text" };
  const { reference } = parsed;
  return { kind: "terms", terms: { ...reference, instant: reference.instant ?? closeAt, feedSha256 } };
}

function isScalar(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function problem(at: number, message: string): TermsOutcome {
  return { kind: "problem", problem: { at, message } };
}

/** The terms as stored: one line of canonical JSON. */
export function encodeTerms(terms: MarketTerms): string {
  return canonicalJson(termsJson(terms));
}

/** Reads what `encodeTerms` wrote. */
export function decodeTerms(text: string): MarketTerms {
  const { instant, ...rest } = JSON.parse(text) as Omit<MarketTerms, "instant"> & { instant: string };
  return { ...rest, instant: Date.parse(instant) };
}

/** The terms in an audit payload. */
export function termsJson({ feed, comparator, strike, upperStrike, instant, rule, feedSha256 }: MarketTerms): Json {
  return {
    feed,
    comparator,
    strike,
    upperStrike,
    instant: new Date(instant).toISOString(),
    rule: rule.kind === "last" ? { kind: rule.kind } : { kind: rule.kind, windowMs: rule.windowMs },
    feedSha256,
  };
}

/** Whether a price fulfils the terms exactly. Both bounds of `between` are included. */
export function isFulfilled(
  { comparator, strike, upperStrike }: Pick<MarketTerms, "comparator" | "strike" | "upperStrike">,
  price: Decimal,
): boolean {
  const order = compareDecimals(price, strikeOf(strike));
  switch (comparator) {
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case "between":
      return order >= 0 && compareDecimals(price, strikeOf(upperStrike ?? strike)) <= 0;
  }
}

function strikeOf(text: string): Decimal {
  const strike = parseDecimal(text);
  invariant(strike, "terms hold strikes that were parsed before");
  return strike;
}
