import type { ResolutionEvidence } from "../domain/audit/audit-shapes.ts";
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
import { isFeedUnchanged } from "../services/oracle/feeds.ts";
import { emptyReport, holdMarket, isolate, type OracleContext, type SweepReport, settleMarket } from "./context.ts";
import { canAskPast, type Fetched, fetchHistory, fetchPrices, keyOf, type SourceSymbol } from "./fetch.ts";
import { keepTicks, readRecords, symbolOf, usableSources } from "./records.ts";

const PAGE = 1000;
/** Sampling begins at most this long before the instant; a slower feed still shows its last price then. */
const LONGEST_SAMPLING_MS = 120_000;
/** The last sweep before an instant runs this long before it, regardless of `sweepMs`. It is longer than the worker's pause. */
export const LAST_LOOK_MS = 500;
/** A source with a history is asked if the last sample before the instant is older than this. */
const FRESH_MS = 5000;
/** The number of samples per window. */
const SAMPLES_PER_WINDOW = 12;
/** The most observations of each source, latest first, in the evidence; an hour's window may have thousands. */
const MOST_OBSERVATIONS = 100;

/** A market that the sweep handles. */
interface Watched extends WatchedRow {
  parsed: MarketTerms;
  /** Undefined if the tenant no longer has the feed. */
  feed: FeedDefinition | undefined;
}

/** The built-in oracle: samples feeds near deciding instants, and settles or holds due markets. */
export async function sweepFeeds(context: OracleContext, now: number): Promise<SweepReport> {
  const report = emptyReport();
  const watched = await listWatched(context, now, report);
  report.watched = watched.length;
  if (watched.length === 0) return report;
  const ripe = watched.filter(({ parsed }) => now >= parsed.instant + SETTLING_MS);
  const before = await decideAll(context, ripe, report);
  const wanted = [
    ...watched.filter(({ parsed }) => now < parsed.instant + SETTLING_MS).flatMap(symbolsOf(context)),
    ...ripe.flatMap((market) => unconfirmed(before.get(market), market)),
  ];
  const fetched = await fetchPrices(context, distinct(wanted));
  const history = await healOutages(context, ripe, before);
  await keepTicks(context.services, [...fetched, ...history]);
  report.asked = fetched.length + history.length;
  const due = ripe.filter(({ closeAt }) => now >= closeAt);
  const again = due.filter((market) => before.get(market)?.verdict.kind !== "resolved");
  const after = await decideAll(context, again, report);
  for (const market of due)
    await isolate(report, async () => {
      const verdict = (after.get(market) ?? before.get(market))?.verdict;
      const marketId = market.id;
      if (verdict?.kind === "resolved") {
        const { outcome, price, used } = verdict;
        const oracle = { resolutionUrl: null, evidence: feedEvidence(market.parsed, price, used) };
        await settleMarket(context, { marketId, outcome, oracle, observedAt: lastObserved(used) }, report);
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
      await isolate(report, () => {
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

interface Evaluated {
  records: SourceRecord[];
  verdict: Verdict;
}

/** Markets of one feed and instant share their records. */
async function decideAll(
  context: OracleContext,
  markets: readonly Watched[],
  report: SweepReport,
): Promise<Map<Watched, Evaluated>> {
  const { pool, oracle, auditKeys } = context.services;
  const shared = new Map<string, SourceRecord[]>();
  const evaluated = new Map<Watched, Evaluated>();
  for (const market of markets) {
    const { feed, parsed } = market;
    if (!feed || !isFeedUnchanged(oracle, parsed)) {
      evaluated.set(market, { records: [], verdict: otherFeed(parsed, feed) });
      continue;
    }
    const key = JSON.stringify([feed.key, parsed.instant, parsed.rule]);
    const records =
      shared.get(key) ?? (await pool.read((sql) => readRecords(sql, feed, parsed, context.sources, auditKeys)));
    shared.set(key, records);
    await isolate(report, () => void evaluated.set(market, { records, verdict: decide(feed, parsed, records) }));
  }
  return evaluated;
}

/** The verdict if a market's feed has changed since its creation: a person decides. */
function otherFeed({ feed: key }: MarketTerms, feed: FeedDefinition | undefined): Verdict {
  const way = "Restore the feed, or settle the market manually";
  return feed
    ? {
        kind: "held",
        reason: "feed changed",
        detail: `the feed ${key} has changed since the market was created. ${way}`,
      }
    : { kind: "held", reason: "feed unknown", detail: `the tenant no longer has the feed ${key}. ${way}` };
}

function symbolsOf({ sources }: OracleContext): (market: Watched) => SourceSymbol[] {
  return ({ feed }) => (feed ? usableSources(feed, sources).map(symbolOf) : []);
}

/** The sources that have not answered since the instant: only they can add observations. */
function unconfirmed(evaluated: Evaluated | undefined, { parsed }: Watched): SourceSymbol[] {
  if (evaluated?.verdict.kind !== "held") return [];
  return evaluated.records
    .filter((record) => !isConfirmed(record, parsed.instant))
    .map(({ source }) => symbolOf(source));
}

/** Asks sources about the past if nothing was observed right before the instant. */
async function healOutages(
  context: OracleContext,
  ripe: readonly Watched[],
  evaluated: ReadonlyMap<Watched, Evaluated>,
): Promise<Fetched[]> {
  const byInstant = new Map<number, SourceSymbol[]>();
  for (const market of ripe) {
    const { verdict, records } = evaluated.get(market) ?? {};
    if (verdict?.kind !== "held" || market.parsed.rule.kind !== "last") continue;
    const { instant } = market.parsed;
    const maxAgeMs = market.feed?.maxAgeMs ?? 0;
    const silent = records?.filter(({ source, observations }) => {
      const ageMs = instant - (observations.at(-1)?.observedAt ?? 0);
      return ageMs > Math.min(maxAgeMs, FRESH_MS) && canAskPast(context.sources.get(source.use), { instant, maxAgeMs });
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

/** The time of the next sweep: shortly before an instant, right after it, and often within a window. */
function wakeAt(watched: readonly Watched[], now: number): number | null {
  const times = watched.flatMap(({ parsed, closeAt }) => {
    const { instant, rule } = parsed;
    const next = [instant - LAST_LOOK_MS, instant + SETTLING_MS, closeAt].filter((time) => time > now);
    const inWindow = rule.kind !== "last" && now < instant;
    return inWindow ? [...next, Math.max(now, instant - rule.windowMs) + rule.windowMs / SAMPLES_PER_WINDOW] : next;
  });
  return times.length === 0 ? null : Math.min(...times);
}

/** The latest time at which a source saw a price that decided, in ISO 8601. */
function lastObserved(used: readonly SourceValue[]): string {
  const times = used.flatMap(({ observations }) => observations.map(({ observedAt }) => observedAt));
  return new Date(Math.max(...times)).toISOString();
}

/** The basis of a resolution by feed, from which its outcome can be recomputed. Numbers are decimal texts. */
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
