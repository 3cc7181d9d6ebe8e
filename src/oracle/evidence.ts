import type { ResolutionEvidence } from "../domain/audit/audit-payloads.ts";
import { type Decimal, decimalText } from "../domain/decimal.ts";
import type { SourceValue } from "../domain/market/resolution.ts";
import { type MarketTerms, termsJson } from "../domain/market/terms.ts";

/** Of each source the latest observations; an hour's window may hold thousands. */
const MOST_OBSERVATIONS = 100;

/** What a resolution by feed rests on: enough for anybody to come to the same outcome. Numbers are decimal texts. */
export function feedEvidence(terms: MarketTerms, price: Decimal, used: readonly SourceValue[]): ResolutionEvidence {
  return {
    ref: terms.feed,
    price: decimalText(price),
    strike: terms.strike,
    terms: termsJson(terms),
    sources: used.map(({ source, price: ofSource, observations }) => ({
      source: source.use,
      id: source.id,
      price: decimalText(ofSource),
      observations: observations.slice(-MOST_OBSERVATIONS).map((observation) => ({
        price: decimalText(observation.price),
        observedAt: new Date(observation.observedAt).toISOString(),
        receivedAt: new Date(observation.receivedAt).toISOString(),
      })),
    })),
  };
}
