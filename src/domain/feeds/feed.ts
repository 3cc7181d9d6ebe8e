import { canonicalJson, type Json } from "../audit/audit-link.ts";
import { type Loose, overlay } from "../overlay.ts";
import { INSTRUMENTS, SESSIONS, type SessionName } from "./instruments.ts";
import { PRESETS } from "./presets.ts";

/** How an instrument's price is computed from the answers of its sources. */
export interface FeedDefinition {
  /** `venue:instrument`. */
  key: string;
  sources: readonly FeedSource[];
  /** How many independent sources must have a price. */
  quorum: number;
  aggregate: "median" | "first";
  /** The maximum age of an observation at the deciding instant. */
  maxAgeMs: number;
  /** Ratios; null for no check. */
  maxSpread: number | null;
  maxJump: number | null;
  maxConf: number | null;
  /** Lowest and highest plausible price. */
  bounds: readonly [number, number] | null;
  /** Trading hours in the notation of trading-hours.ts; null for always. */
  hours: string | null;
}

export interface FeedSource {
  /** The source's name. */
  use: string;
  /** The source's name of the instrument. */
  id: string;
}

/** A tenant file's settings of a feed, `maxAge` in milliseconds; the rest comes from the built-in feed or the defaults. */
type FeedOverride = Loose<Omit<FeedDefinition, "key" | "hours" | "maxAgeMs"> & { maxAge: number }>;

export type Venues = Readonly<Record<string, Readonly<Record<string, FeedOverride>>>>;

const BUILT_IN_VENUE = "pm";

/** The differences between groups of instruments. A crypto price needs two independent exchanges. */
const GROUPS = {
  crypto: { quorum: 2, maxAgeMs: 60_000, maxSpread: 0.005, maxJump: 0.1 },
  fx: { quorum: 1, maxAgeMs: 120_000, maxSpread: 0.001, maxJump: 0.1 },
  metal: { quorum: 1, maxAgeMs: 120_000, maxSpread: 0.003, maxJump: 0.1 },
  // Near or below zero, a correct price may double within a minute.
  energy: { quorum: 1, maxAgeMs: 120_000, maxSpread: 0.003, maxJump: null },
  equity: { quorum: 1, maxAgeMs: 60_000, maxSpread: 0.003, maxJump: 0.1 },
} as const;

const MAX_CONF = 0.005;
const OTHER_MAX_AGE_MS = 60_000;

function groupOf(session: SessionName): keyof typeof GROUPS {
  if (session === "crypto" || session === "fx" || session === "metal") return session;
  return session === "oil_wti" || session === "oil_brent" ? "energy" : "equity";
}

/** The built-in feeds with a tenant's changes, and the feeds of the tenant's own venues, by key. */
export function feedCatalogue(venues: Venues = {}): Map<string, FeedDefinition> {
  const feeds = new Map<string, FeedDefinition>();
  for (const [name, instrument] of Object.entries(INSTRUMENTS)) {
    const { session, bounds } = instrument;
    const sources = Object.entries(PRESETS).flatMap(([use, { symbols }]) => {
      const id = symbols.get(name);
      return id === undefined ? [] : [{ use, id }];
    });
    const key = `${BUILT_IN_VENUE}:${name}`;
    const built: FeedDefinition = {
      key,
      sources,
      aggregate: "median",
      maxConf: MAX_CONF,
      bounds,
      hours: SESSIONS[session],
      ...GROUPS[groupOf(session)],
    };
    feeds.set(key, changed(built, venues[BUILT_IN_VENUE]?.[name]));
  }
  for (const [venue, instruments] of Object.entries(venues))
    for (const [name, override] of Object.entries(instruments)) {
      const key = `${venue}:${name}`;
      if (!feeds.has(key)) feeds.set(key, changed(emptyFeed(key), override));
    }
  return feeds;
}

function emptyFeed(key: string): FeedDefinition {
  return {
    key,
    sources: [],
    quorum: 1,
    aggregate: "median",
    maxAgeMs: OTHER_MAX_AGE_MS,
    maxSpread: null,
    maxJump: null,
    maxConf: null,
    bounds: null,
    hours: null,
  };
}

/**
 * A tenant's own sources come without the quorum, jump limit and trading hours of the built-in ones: a tenant with one
 * own source means a quorum of one, and a source may trade when the exchange does not.
 */
function changed(feed: FeedDefinition, { maxAge: maxAgeMs, ...stated }: FeedOverride = {}): FeedDefinition {
  const base = stated.sources ? { ...feed, quorum: 1, maxJump: null, hours: null } : feed;
  return overlay(base, { ...stated, maxAgeMs });
}

/** The part of a definition that its hash covers: everything except the trading hours, because new holidays are added to them. */
function definitionText({ hours: _, ...definition }: FeedDefinition): string {
  return JSON.stringify(definition, Object.keys(definition).concat("use", "id").sort());
}

/**
 * The part of its feed that a market freezes: the definition, and the tenant file's settings of its sources, so that a
 * price from another place is another feed. Presets are excluded, because their upgrade would hold every market.
 * @param stated the settings that decide about the price, by source
 */
export function feedFingerprintText(feed: FeedDefinition, stated: ReadonlyMap<string, Json>): string {
  const sources = feed.sources.map(({ use }) => stated.get(use) ?? null);
  return `${definitionText(feed)}\n${canonicalJson(sources)}`;
}
