import type { ResolutionEvidence } from "../domain/audit/audit-payloads.ts";
import { type Decimal, decimalText } from "../domain/decimal.ts";
import type { FeedDefinition } from "../domain/feeds/feed.ts";
import {
  decide,
  isConfirmed,
  SETTLING_MS,
  type SourceRecord,
  type SourceValue,
  type Verdict,
} from "../domain/market/resolution.ts";
import { decodeTerms, type MarketTerms, termsJson } from "../domain/market/terms.ts";
import { LONGEST_WINDOW_MS } from "../domain/reference.ts";
import { listWatchedMarkets, type MarketMark, type WatchedRow } from "../queries/oracle.ts";
import { isFeedUnchanged } from "../services/feeds.ts";
import { apart, emptyReport, holdMarket, type OracleContext, type SweepReport, settleMarket } from "./context.ts";
import { type Fetched, fetchHistory, fetchPrices, keyOf, remembers, type SourceSymbol } from "./fetch.ts";
import { keepTicks, readRecords, symbolOf, usableSources } from "./records.ts";

const PAGE = 1000;
/** Sampling begins this long before the instant at the most; what a slower feed showed last, it still shows then. */
const LONGEST_SAMPLING_MS = 120_000;
/** A last look this long before the instant, whatever the sweep's own beat; longer than the worker's pause. */
export const LAST_LOOK_MS = 500;
/** An older sample may be good enough by the feed's rules; where a source remembers, the price of the instant is better. */
const FRESH_MS = 5000;
/** A window is looked at so many times. */
const LOOKS_PER_WINDOW = 12;

/** Of each source the latest observations; an hour's window may hold thousands. */
const MOST_OBSERVATIONS = 100;

/** A market that the sweep looks at. */
interface Watched extends WatchedRow {
  parsed: MarketTerms;
  /** Undefined for a feed that the tenant no longer has. */
  feed: FeedDefinition | undefined;
}

/** The built-in oracle: samples feeds near their instants, and settles or holds the markets whose time has come. */
export async function sweepFeeds(context: OracleContext, now: number): Promise<SweepReport> {
  const report = emptyReport();
  const watched = await listWatched(context, now, report);
  report.watched = watched.length;
  if (watched.length === 0) return report;
  const ripe = watched.filter(({ parsed }) => now >= parsed.instant + SETTLING_MS);
  const before = await decideAll(context, ripe, report);
  const wanted = [
    ...watched.filter(({ parsed }) => now < parsed.instant + SETTLING_MS).flatMap(symbolsOf(context)),
    ...ripe.flatMap((market) => unheard(before.get(market), market)),
  ];
  const fetched = await fetchPrices(context, distinct(wanted));
  const history = await healOutages(context, ripe, before);
  await keepTicks(context.services.pool, [...fetched, ...history]);
  report.asked = fetched.length + history.length;
  const due = ripe.filter(({ closeAt }) => now >= closeAt);
  const again = due.filter((market) => before.get(market)?.verdict.kind !== "resolved");
  const after = await decideAll(context, again, report);
  for (const market of due)
    await apart(report, async () => {
      const verdict = (after.get(market) ?? before.get(market))?.verdict;
      const marketId = market.id;
      if (verdict?.kind === "resolved") {
        const { outcome, price, used } = verdict;
        const oracle = { resolutionUrl: null, evidence: feedEvidence(market.parsed, price, used) };
        await settleMarket(context, { marketId, outcome, oracle }, report);
      } else if (verdict && verdict.reason === market.reason) report.held.push({ marketId, reason: verdict.reason });
      else if (verdict) await holdMarket(context, { marketId, reason: verdict.reason, detail: verdict.detail }, report);
    });
  report.wakeAt = wakeAt(watched, now);
  return report;
}

async function listWatched({ services, sweepMs }: OracleContext, now: number, report: SweepReport): Promise<Watched[]> {
  const watched: Watched[] = [];
  const { feeds } = services.oracle;
  for (let after: MarketMark | undefined; ; ) {
    const until = now + LONGEST_WINDOW_MS + LONGEST_SAMPLING_MS + sweepMs;
    const page = await services.pool.read((sql) => listWatchedMarkets(sql, { until, after, limit: PAGE }));
    for (const row of page)
      await apart(report, () => {
        const parsed = decodeTerms(row.terms);
        const market = { ...row, parsed, feed: feeds.get(parsed.feed) };
        if (now >= samplingFrom(market) - sweepMs) watched.push(market);
      });
    const last = page.at(-1);
    if (!last || page.length < PAGE) return watched;
    after = { at: last.instantAt, id: last.id };
  }
}

function samplingFrom({ parsed, feed }: Pick<Watched, "parsed" | "feed">): number {
  const window = parsed.rule.kind === "last" ? 0 : parsed.rule.windowMs;
  return parsed.instant - window - Math.min(feed?.maxAgeMs ?? 0, LONGEST_SAMPLING_MS);
}

interface Judged {
  records: SourceRecord[];
  verdict: Verdict;
}

/** Markets of one feed and instant share their records. */
async function decideAll(
  context: OracleContext,
  markets: readonly Watched[],
  report: SweepReport,
): Promise<Map<Watched, Judged>> {
  const { pool, oracle } = context.services;
  const shared = new Map<string, SourceRecord[]>();
  const judged = new Map<Watched, Judged>();
  for (const market of markets) {
    const { feed, parsed } = market;
    if (!feed || !isFeedUnchanged(oracle, parsed)) {
      judged.set(market, { records: [], verdict: otherFeed(parsed, feed) });
      continue;
    }
    const key = JSON.stringify([feed.key, parsed.instant, parsed.rule]);
    const records = shared.get(key) ?? (await pool.read((sql) => readRecords(sql, feed, parsed, context.sources)));
    shared.set(key, records);
    await apart(report, () => void judged.set(market, { records, verdict: decide(feed, parsed, records) }));
  }
  return judged;
}

/** What was promised when the market was created must decide it, or a person. */
function otherFeed({ feed: key }: MarketTerms, feed: FeedDefinition | undefined): Verdict {
  const way = "Put it back as it was, or settle the market by hand";
  return feed
    ? { kind: "held", reason: "feed changed", detail: `${key} is another than when the market was created. ${way}` }
    : { kind: "held", reason: "feed unknown", detail: `the tenant has no feed ${key} any more. ${way}` };
}

function symbolsOf({ sources }: OracleContext): (market: Watched) => SourceSymbol[] {
  return ({ feed }) => (feed ? usableSources(feed, sources).map(symbolOf) : []);
}

/** Sources that have not answered since the instant: only they can still add something. */
function unheard(judged: Judged | undefined, { parsed }: Watched): SourceSymbol[] {
  if (judged?.verdict.kind !== "held") return [];
  return judged.records.filter((record) => !isConfirmed(record, parsed.instant)).map(({ source }) => symbolOf(source));
}

/** Asks about the past where nothing was observed right before the instant. */
async function healOutages(
  context: OracleContext,
  ripe: readonly Watched[],
  judged: ReadonlyMap<Watched, Judged>,
): Promise<Fetched[]> {
  const byInstant = new Map<number, SourceSymbol[]>();
  for (const market of ripe) {
    const { verdict, records } = judged.get(market) ?? {};
    if (verdict?.kind !== "held" || market.parsed.rule.kind !== "last") continue;
    const { instant } = market.parsed;
    const maxAgeMs = market.feed?.maxAgeMs ?? 0;
    const silent = records?.filter(({ source, observations }) => {
      const ageMs = instant - (observations.at(-1)?.observedAt ?? 0);
      return ageMs > Math.min(maxAgeMs, FRESH_MS) && remembers(context.sources.get(source.use), { instant, maxAgeMs });
    });
    const symbols = silent?.map(({ source }) => symbolOf(source)) ?? [];
    byInstant.set(instant, [...(byInstant.get(instant) ?? []), ...symbols]);
  }
  const answers: Fetched[] = [];
  for (const [instant, symbols] of byInstant)
    answers.push(...(await fetchHistory(context, distinct(symbols), instant)));
  return answers;
}

function distinct(symbols: readonly SourceSymbol[]): SourceSymbol[] {
  return [...new Map(symbols.map((each) => [keyOf(each), each])).values()];
}

/** Shortly before an instant, right after it, and often within a window. */
function wakeAt(watched: readonly Watched[], now: number): number | null {
  const times = watched.flatMap(({ parsed, closeAt }) => {
    const { instant, rule } = parsed;
    const next = [instant - LAST_LOOK_MS, instant + SETTLING_MS, closeAt].filter((time) => time > now);
    const inWindow = rule.kind !== "last" && now < instant;
    return inWindow ? [...next, Math.max(now, instant - rule.windowMs) + rule.windowMs / LOOKS_PER_WINDOW] : next;
  });
  return times.length === 0 ? null : Math.min(...times);
}

/** What a resolution by feed rests on: enough to come to the same outcome again. Numbers are decimal texts. */
function feedEvidence(terms: MarketTerms, price: Decimal, used: readonly SourceValue[]): ResolutionEvidence {
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
