import type { Api, WireInput } from "../../contract/operations.ts";
import {
  absoluteDecimal,
  compareDecimals,
  multiplyDecimals,
  parseDecimal,
  subtractDecimals,
} from "../../domain/decimal.ts";
import type { FeedDefinition } from "../../domain/feeds/feed.ts";
import { isTrading, parseTradingHours } from "../../domain/feeds/trading-hours.ts";
import { termsOf } from "../../domain/market/terms.ts";
import { parseTimestamp } from "../../domain/time/timestamp.ts";
import type { OracleSetup } from "../../services/feeds.ts";
import type { TenantSession } from "../tenant/session.ts";
import { tenantFeeds } from "../tenant/tenant-oracle.ts";

/** A strike further from the last price than half of that price is probably a mistake. */
const FAR = { units: 5n, scale: 1 };

/** The probable mistakes in a market that is about to be created. */
export async function marketWarnings(
  { resolutionRef, meta = {}, closeAt }: Pick<WireInput<"createMarket">, "resolutionRef" | "meta" | "closeAt">,
  { tenant, api }: TenantSession,
): Promise<string[]> {
  const closing = parseTimestamp(closeAt);
  // The API refuses an invalid time itself.
  if (closing === undefined) return [];
  const market = { resolutionRef, meta, closeAt: closing };
  const found = await manyReferenceWarnings(new Map([["", market]]), tenantFeeds(tenant.config), api());
  return found.get("") ?? [];
}

type Referring = Parameters<typeof termsOf>[0];

/** In one request. */
const FEEDS_AT_ONCE = 200;

/**
 * The probable mistakes in the references of markets that are to be created, by their keys.
 * @param api of the latest prices; undefined for a tenant that was never applied
 */
export async function manyReferenceWarnings<Key>(
  markets: ReadonlyMap<Key, Referring>,
  setup: OracleSetup,
  api: Api | undefined,
): Promise<Map<Key, string[]>> {
  const feeds = new Map<string, FeedDefinition>();
  for (const market of markets.values()) {
    const outcome = termsOf(market, setup.hashes);
    const feed = outcome.kind === "terms" ? setup.feeds.get(outcome.terms.feed) : undefined;
    if (feed) feeds.set(feed.key, feed);
  }
  const latest = new Map<string, string | null>();
  const asked = [...feeds.values()].map(({ key, sources }) => ({ key, sources: [...sources] }));
  for (let start = 0; api && start < asked.length; start += FEEDS_AT_ONCE) {
    const answered = await api.listLatestPrices({ feeds: asked.slice(start, start + FEEDS_AT_ONCE) });
    for (const { key, price } of answered) latest.set(key, price);
  }
  return new Map([...markets].map(([key, market]) => [key, referenceWarnings(market, setup, latest)]));
}

/**
 * The probable mistakes in a market's reference, for which no market is refused.
 * @param lastPrices by feed, as decimal text
 */
function referenceWarnings(
  { resolutionRef, meta, closeAt }: Referring,
  setup: OracleSetup,
  lastPrices: ReadonlyMap<string, string | null>,
): string[] {
  const outcome = termsOf({ resolutionRef, meta, closeAt }, setup.hashes);
  if (outcome.kind === "text") return [];
  if (outcome.kind === "problem") {
    const { at, message } = outcome.problem;
    return [`"${resolutionRef}" settles nothing by itself: at character ${at + 1}, ${message}`];
  }
  const { terms } = outcome;
  const feed = setup.feeds.get(terms.feed);
  const warnings: string[] = [];
  const hours = feed?.hours ? parseTradingHours(feed.hours) : undefined;
  if (hours && !isTrading(hours, terms.instant))
    warnings.push(`${terms.feed} does not trade at ${new Date(terms.instant).toISOString()}: the market would be held`);
  const usable = feed?.sources.filter(({ use }) => !setup.lacking.has(use)).length ?? 0;
  if (feed && usable < feed.quorum) warnings.push(`${tooFewSources(feed, usable, setup)}: the market would be held`);
  if (terms.instant < closeAt)
    warnings.push(
      "The price of an instant before the closing time decides: traders will know the outcome while they trade",
    );
  const latest = lastPrices.get(terms.feed);
  const [price, strike] = [parseDecimal(latest ?? ""), parseDecimal(terms.strike)];
  if (price && strike) {
    const distance = absoluteDecimal(subtractDecimals(strike, price));
    if (compareDecimals(distance, multiplyDecimals(absoluteDecimal(price), FAR)) > 0)
      warnings.push(`The strike ${terms.strike} is far from the last price, ${latest}`);
  }
  return warnings;
}

/** `pm:xau needs 1 source and has 0: pyth needs a header with the key, …` */
export function tooFewSources(
  { key, quorum, sources }: FeedDefinition,
  usable: number,
  { lacking }: OracleSetup,
): string {
  const needs = sources.flatMap(({ use }) => (lacking.has(use) ? [`${use} needs ${lacking.get(use)}`] : []));
  return `${key} needs ${quorum} ${quorum === 1 ? "source" : "sources"} and has ${usable}: ${needs.join(", ")}`;
}
