import * as is from "./shapes.ts";

/** Section 2 of the interface specification. */
export const side = is.oneOf("yes", "no");
const kind = is.oneOf("cpmm", "lmsr");
const status = is.oneOf("open", "suspended", "closed", "settled");
export const marketItem = is.object({
  id: is.string,
  question: is.string,
  category: is.string,
  kind,
  yesPrice: is.price,
  volume24h: is.number,
  closeAt: is.timestamp,
});
export const marketDetail = is.object(
  {
    id: is.string,
    question: is.string,
    kind,
    status,
    yesPrice: is.price,
    noPrice: is.price,
    volume: is.number,
    closeAt: is.timestamp,
    resolutionRef: is.string,
    meta: is.anyObject,
  },
  ["category", "createdAt", "outcome", "settledAt", "reason", "corrections", "key", "clarifications"],
);
export const levels = is.arrayOf(is.object({ price: is.price, size: is.number }));
export const trade = {
  tradeId: is.string,
  marketId: is.string,
  side,
  amount: is.number,
  shares: is.number,
  avgPrice: is.price,
  ts: is.timestamp,
};
export const position = is.object(
  {
    marketId: is.string,
    question: is.string,
    side,
    shares: is.number,
    avgCost: is.price,
    currentPrice: is.price,
    unrealizedPnl: is.number,
  },
  ["sellValue", "sellPnl"],
);
export const policyFields = {
  feeBps: is.integer,
  maxTradeUsd: is.number,
  maxUserExposureUsd: is.number,
  jurisdictions: is.object({ allowed: is.arrayOf(is.string), blocked: is.arrayOf(is.string) }),
  suitabilityRequired: is.boolean,
  suitabilityThresholds: is.anyObject,
  resolution_url: is.nullable(is.string),
};
/** Fields beyond the specification. */
export const policyAdditions = ["maxCreditUsd", "kycReview"];
export const received = is.object({ received: is.oneOf(true) });
export const created = is.object({
  id: is.string,
  status: is.oneOf("open"),
  yesPrice: is.price,
  createdAt: is.timestamp,
});
