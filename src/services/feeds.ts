import { createHash } from "node:crypto";
import type { OutgoingRules } from "../domain/access/networks.ts";
import type { Json } from "../domain/audit/audit-link.ts";
import {
  definitionText,
  type FeedDefinition,
  feedCatalogue,
  feedFingerprintText,
  type Venues,
} from "../domain/feeds/feed.ts";
import type { FeedHashes, MarketTerms } from "../domain/market/terms.ts";

/** A tenant's feeds, as its services use them. */
export interface OracleSetup {
  feeds: ReadonlyMap<string, FeedDefinition>;
  /** SHA-256 of each feed's fingerprint text, which a market keeps from its creation on. */
  hashes: FeedHashes;
  /** Sources whose prices the tenant sends. */
  pushSources: ReadonlySet<string>;
  /** Sources that the tenant cannot use yet, by name, with the settings that its file lacks. */
  lacking: ReadonlyMap<string, string>;
  /** Where `resolution_url` may lead. */
  network: OutgoingRules;
}

/** The built-in feeds and those of the tenant's venues, with the sources of its file. */
export function oracleSetup(
  venues: Venues = {},
  pushSources: Iterable<string> = [],
  network: OutgoingRules = {},
  lacking: ReadonlyMap<string, string> = new Map(),
  stated: ReadonlyMap<string, Json> = new Map(),
): OracleSetup {
  const feeds = feedCatalogue(venues);
  const hashes = new Map([...feeds].map(([key, feed]) => [key, sha256(feedFingerprintText(feed, stated))]));
  return { feeds, hashes, pushSources: new Set(pushSources), lacking, network };
}

/** Whether a feed is still the same as when the market was created. */
export function isFeedUnchanged(
  { feeds, hashes }: Pick<OracleSetup, "feeds" | "hashes">,
  { feed: key, feedSha256 }: Pick<MarketTerms, "feed" | "feedSha256">,
): boolean {
  const feed = feeds.get(key);
  // Older markets keep a hash of the definition alone, without its sources.
  return feed !== undefined && (hashes.get(key) === feedSha256 || sha256(definitionText(feed)) === feedSha256);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
