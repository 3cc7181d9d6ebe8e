import type { TenantConfig } from "../../config/tenant-config.ts";
import { decimalFromNumber } from "../../domain/decimal.ts";
import { invariant } from "../../domain/fault.ts";
import type { FeedDefinition } from "../../domain/feeds/feed.ts";
import type { Source } from "../../domain/feeds/source.ts";
import {
  decide,
  type Observation,
  SETTLING_MS,
  type SourceRecord,
  type Verdict,
} from "../../domain/market/resolution.ts";
import type { FeedHashes, MarketTerms } from "../../domain/market/terms.ts";
import { upstreamOf, usableSources } from "../../oracle/records.ts";
import { statedSources, tenantFeeds } from "../tenant/tenant-oracle.ts";

/** A tenant's feeds without its secrets: they decide what a source answers, and in a case the case says that. */
export interface TenantFeeds {
  feeds: ReadonlyMap<string, FeedDefinition>;
  hashes: FeedHashes;
  sources: ReadonlyMap<string, Source>;
}

export function feedsOf(config: TenantConfig): TenantFeeds {
  const { feeds, hashes } = tenantFeeds(config);
  return { feeds, hashes, sources: statedSources(config).ready };
}

/** What the sources of a tenant's feeds have said in a case. */
export class StatedPrices {
  readonly #feeds: TenantFeeds;
  readonly #observations = new Map<string, Observation[]>();

  constructor(feeds: TenantFeeds) {
    this.#feeds = feeds;
  }

  /** From now on every source of the feed answers with this price, dated now. */
  state(feed: string, value: number, now: number): void {
    const price = decimalFromNumber(value);
    invariant(price, "a number of a file is a decimal");
    const observation = { observedAt: now, price, conf: null, receivedAt: now };
    this.#observations.set(feed, [...(this.#observations.get(feed) ?? []), observation]);
  }

  /**
   * The verdict on a market by the prices stated up to its instant. Sources that have said something are taken to answer
   * after the instant too, so that only what they said decides.
   */
  decide(terms: MarketTerms): Verdict {
    const feed = this.#feeds.feeds.get(terms.feed);
    invariant(feed, "a market has terms only where the tenant has their feed");
    return decide(feed, terms, this.#recordsOf(feed, terms.instant));
  }

  #recordsOf(feed: FeedDefinition, instant: number): SourceRecord[] {
    const { sources } = this.#feeds;
    const stated = this.#observations.get(feed.key);
    return usableSources(feed, sources).map((source) => ({
      source,
      upstream: upstreamOf(source.use, sources),
      observations: stated?.filter(({ observedAt }) => observedAt <= instant) ?? [],
      confirmedAt: stated ? instant + SETTLING_MS : null,
    }));
  }
}
