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

/** What a tenant's services know of its feeds. */
export interface OracleSetup {
  feeds: ReadonlyMap<string, FeedDefinition>;
  /** SHA-256 of what each feed promises, which markets freeze. */
  hashes: FeedHashes;
  /** Sources whose prices the tenant sends itself. */
  pushSources: ReadonlySet<string>;
  /** Sources that the tenant cannot ask yet, by name, and what its file would have to state. */
  lacking: ReadonlyMap<string, string>;
  /** Where `resolution_url` may lead. */
  network: OutgoingRules;
}

/** The feeds of a tenant's venues beside the built-in ones, with what depends on the sources of its file. */
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

/** Whether a feed is what it was when a market was created on it. */
export function isFeedUnchanged(
  { feeds, hashes }: Pick<OracleSetup, "feeds" | "hashes">,
  { feed: key, feedSha256 }: Pick<MarketTerms, "feed" | "feedSha256">,
): boolean {
  const feed = feeds.get(key);
  // There are markets that froze the definition alone; what their sources were is not on record.
  return feed !== undefined && (hashes.get(key) === feedSha256 || sha256(definitionText(feed)) === feedSha256);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
