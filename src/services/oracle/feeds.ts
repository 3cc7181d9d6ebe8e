import { createHash } from "node:crypto";
import type { Result } from "../../contract/operations.ts";
import type { OutgoingRules } from "../../domain/access/networks.ts";
import type { Json } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { type FeedDefinition, feedCatalogue, feedFingerprintText, type Venues } from "../../domain/feeds/feed.ts";
import type { FeedHashes, MarketTerms } from "../../domain/market/terms.ts";
import { nearest } from "../../domain/nearest.ts";

/** A tenant's feeds, in the form that its services need. */
export interface OracleSetup {
  feeds: ReadonlyMap<string, FeedDefinition>;
  /** The feeds that the tenant file states. */
  own: ReadonlySet<string>;
  /** The SHA-256 of each feed's fingerprint text; a market stores it at its creation. */
  hashes: FeedHashes;
  /** Sources whose prices the tenant sends. */
  pushSources: ReadonlySet<string>;
  /** Unusable sources by name, with the settings that the tenant file lacks. */
  lacking: ReadonlyMap<string, string>;
  /** Rules for the address in `resolution_url`. */
  network: OutgoingRules;
}

/** The built-in feeds and the feeds of the tenant's venues, with the sources of its file. */
export function oracleSetup(
  venues: Venues = {},
  pushSources: Iterable<string> = [],
  network: OutgoingRules = {},
  lacking: ReadonlyMap<string, string> = new Map(),
  stated: ReadonlyMap<string, Json> = new Map(),
): OracleSetup {
  const feeds = feedCatalogue(venues);
  const hashes = new Map([...feeds].map(([key, feed]) => [key, sha256(feedFingerprintText(feed, stated))]));
  const own = new Set(
    Object.entries(venues).flatMap(([venue, names]) => Object.keys(names).map((name) => `${venue}:${name}`)),
  );
  return { feeds, own, hashes, pushSources: new Set(pushSources), lacking, network };
}

/** Whether a feed is the same as at the market's creation. */
export function isFeedUnchanged(
  { feeds, hashes }: Pick<OracleSetup, "feeds" | "hashes">,
  { feed: key, feedSha256 }: Pick<MarketTerms, "feed" | "feedSha256">,
): boolean {
  const feed = feeds.get(key);
  return feed !== undefined && hashes.get(key) === feedSha256;
}

/** Every feed with its sources. */
export function feedLines({
  feeds,
  own,
  lacking,
}: Pick<OracleSetup, "feeds" | "own" | "lacking">): Result<"listFeeds"> {
  return [...feeds.values()].map(({ key, sources, quorum, maxAgeMs }) => ({
    feed: key,
    own: own.has(key),
    sources: sources.filter(({ use }) => !lacking.has(use)).map(({ use, id }) => `${use} ${id}`),
    lacking: sources.flatMap(({ use }) => (lacking.has(use) ? [`${use}: ${lacking.get(use)}`] : [])),
    quorum,
    maxAgeSec: maxAgeMs / 1000,
  }));
}

/**
 * The feeds with these names, in any case; all feeds for an empty list.
 * @throws Fault NOT_FOUND for the first unknown name, with the most similar feed
 */
export function namedFeeds({ feeds }: Pick<OracleSetup, "feeds">, names: readonly string[]): FeedDefinition[] {
  const unknown = names.find((name) => !feeds.has(name.toLowerCase()));
  if (unknown !== undefined) {
    const meant = nearest(unknown, [...feeds.keys()]);
    const hint = meant === undefined ? "pmctl oracle feeds lists them" : `did you mean ${meant}?`;
    throw new Fault("NOT_FOUND", `There is no feed ${unknown}; ${hint}`);
  }
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  return [...feeds.values()].filter(({ key }) => wanted.size === 0 || wanted.has(key));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
