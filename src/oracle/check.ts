import { decimalText } from "../domain/decimal.ts";
import type { FeedDefinition } from "../domain/feeds/feed.ts";
import { isTrading, parseTradingHours } from "../domain/feeds/trading-hours.ts";
import { decide, SETTLING_MS, type SourceRecord, spreadOf } from "../domain/market/resolution.ts";
import type { MarketTerms } from "../domain/market/terms.ts";
import { type FetchContext, type Fetched, fetchPrices, keyOf } from "./fetch.ts";
import { symbolOf, upstreamOf, usableSources } from "./records.ts";

/** The result of asking all sources of a feed once. */
export interface FeedCheck {
  feed: string;
  /** Decimal text; null when a market would be held. */
  price: string | null;
  /** The age of the newest price in seconds. */
  ageSec: number | null;
  /** The distance between the sources' prices, as decimal text. */
  spread: string | null;
  session: "open" | "closed" | "always";
  /** `ok`, or why a market would be held now. */
  verdict: string;
  detail: string;
}

/** Fetches every feed once, and evaluates it as if it had to decide a market now. Stores nothing. */
export async function checkFeeds(context: FetchContext, feeds: readonly FeedDefinition[]): Promise<FeedCheck[]> {
  const wanted = feeds.flatMap((feed) => usableSources(feed, context.sources).map(symbolOf));
  const fetched = await fetchPrices(context, wanted);
  const now = await context.now();
  const answers = new Map(fetched.map((each) => [keyOf(each), each]));
  return feeds.map((feed) => checkFeed(context, feed, answers, now));
}

function checkFeed(
  { sources }: FetchContext,
  feed: FeedDefinition,
  answers: ReadonlyMap<string, Fetched>,
  now: number,
): FeedCheck {
  const asked = usableSources(feed, sources).map((source) => ({
    source,
    answer: answers.get(keyOf(symbolOf(source))),
  }));
  const records = asked.map(({ source, answer }): SourceRecord => {
    const upstream = upstreamOf(source.use, sources);
    if (!answer || "failure" in answer) return { source, upstream, observations: [], confirmedAt: null };
    // A source's clock may run a little ahead of ours.
    const observedAt = Math.min(answer.reading.observedAt, now);
    const observation = { ...answer.reading, observedAt, receivedAt: answer.receivedAt };
    return { source, upstream, observations: [observation], confirmedAt: now + SETTLING_MS };
  });
  const prices = records.flatMap(({ observations }) => observations);
  const verdict = decide(feed, probe(feed.key, now), records);
  const failures = asked.flatMap(({ source, answer }) =>
    answer && "failure" in answer ? [`${source.use}: ${answer.failure}`] : [],
  );
  const unusable = feed.sources.filter(({ use }) => !sources.has(use)).map(({ use }) => use);
  const missing = unusable.length === 0 ? [] : [`not configured: ${unusable.join(", ")}`];
  const hours = feed.hours === null ? undefined : parseTradingHours(feed.hours);
  return {
    feed: feed.key,
    price: verdict.kind === "resolved" ? decimalText(verdict.price) : null,
    ageSec: prices.length === 0 ? null : (now - Math.max(...prices.map(({ observedAt }) => observedAt))) / 1000,
    spread: prices.length < 2 ? null : decimalText(spreadOf(prices)),
    session: hours === undefined ? "always" : isTrading(hours, now) ? "open" : "closed",
    verdict: verdict.kind === "resolved" ? "ok" : verdict.reason,
    detail: [
      ...(verdict.kind === "held" && failures.length === 0 ? [verdict.detail] : []),
      ...failures,
      ...missing,
    ].join("; "),
  };
}

/** Terms that any price can decide. */
function probe(feed: string, instant: number): MarketTerms {
  return { feed, comparator: ">", strike: "0", upperStrike: null, instant, rule: { kind: "last" }, feedSha256: "" };
}
