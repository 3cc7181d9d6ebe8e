import type { TenantConfig } from "../../config/tenant-config.ts";
import { decimalFromNumber } from "../../domain/decimal.ts";
import { invariant } from "../../domain/fault.ts";
import type { FeedDefinition } from "../../domain/feeds/feed.ts";
import type { Source } from "../../domain/feeds/source.ts";
import { statusAt } from "../../domain/market/market.ts";
import {
  decide,
  type Observation,
  SETTLING_MS,
  type SourceRecord,
  type Verdict,
} from "../../domain/market/resolution.ts";
import { decodeTerms, type FeedHashes, type MarketTerms } from "../../domain/market/terms.ts";
import { type Policy, policyAt } from "../../domain/policy/policy.ts";
import { type Command, execute, type Results } from "../../engine/commands.ts";
import type { Reader, RowWrite } from "../../engine/draft.ts";
import { RowMap } from "../../engine/row-map.ts";
import { type Market, type Position, SINGLE, type Table, type Tables, type Tenant } from "../../engine/rows.ts";
import { upstreamOf, usableSources } from "../../oracle/records.ts";
import { feedEvidence } from "../../oracle/sweep-feeds.ts";
import { statedSources, tenantFeeds } from "../tenant/tenant-oracle.ts";

/** What a look of the oracle did, as `POST /v1/oracle/sweep` answers. */
interface Sweep {
  watched: number;
  asked: number;
  settled: string[];
  held: { marketId: string; reason: string }[];
}

/**
 * A tenant in memory: the engine's rows, and a clock that moves only when the case waits. What a server does by itself
 * (closings, settlements by the oracle, holds) happens at the moment at which it falls due.
 */
export class CaseTenant {
  readonly rows = new CaseRows();
  readonly #prices: StatedPrices;
  readonly #marketIds: string[] = [];
  #now: number;

  /** @param now milliseconds since the epoch */
  constructor(feeds: TenantFeeds, now: number) {
    this.#prices = new StatedPrices(feeds);
    this.#now = now;
  }

  get now(): number {
    return this.#now;
  }

  /**
   * Decides a command now, and takes over what it writes.
   * @throws Fault when it is refused
   */
  run<C extends Command>(command: C): Results[C["type"]] {
    const { result, draft } = execute(this.rows, command, this.#now, this.#now);
    this.rows.adopt(draft.writes());
    if (command.type === "createMarket") this.#marketIds.push(command.id);
    return result as Results[C["type"]];
  }

  /** The policy in force now. */
  get policy(): Policy {
    return policyAt(this.#tenant, this.#now);
  }

  /** A market with its state and the status that it shows now; undefined where there is none. */
  market(id: string) {
    const market = this.rows.get("market", id);
    const state = this.rows.get("marketState", id);
    if (!market || !state) return undefined;
    return { market, state, status: statusAt({ status: state.status, closeAt: market.closeAt }, this.#now) };
  }

  /** From now on every source of the feed answers with this price. */
  statePrice(feed: string, value: number): void {
    this.#prices.state(feed, value, this.#now);
  }

  wait(ms: number): void {
    const until = this.#now + ms;
    for (let at = this.#nextDue(until); at !== undefined; at = this.#nextDue(until)) {
      this.#now = at;
      for (const marketId of this.#marketIds) this.run({ type: "closeMarket", marketId });
      this.#sweep(SETTLING_MS);
    }
    this.#now = until;
  }

  /**
   * Lets the oracle look now. What was stated of a feed is final, so that a market is settled from its instant on; a server
   * waits for two seconds more, and so does the first look that may hold it.
   */
  sweep(): Sweep {
    return this.#sweep(0);
  }

  get #tenant(): Tenant {
    const tenant = this.rows.get("tenant", SINGLE);
    invariant(tenant, "a case begins with an apply");
    return tenant;
  }

  #nextDue(until: number): number | undefined {
    const times = this.#marketIds.flatMap((id) => {
      const { market } = this.market(id) ?? {};
      if (!market) return [];
      return market.terms === null ? [market.closeAt] : [market.closeAt, settlingAt(market, SETTLING_MS)];
    });
    const due = times.filter((time) => time > this.#now && time <= until);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** An address that decides is not asked: a case does not leave the machine, and its `settle` says what came back. */
  #sweep(settlingMs: number): Sweep {
    const report: Sweep = { watched: 0, asked: 0, settled: [], held: [] };
    if (this.policy.resolution_url !== null) return report;
    for (const id of this.#marketIds) {
      const { market, state } = this.market(id) ?? {};
      if (!market?.terms || state?.status !== "open" || this.#now < settlingAt(market, settlingMs)) continue;
      report.watched += 1;
      this.#resolve(market, decodeTerms(market.terms), report);
    }
    return report;
  }

  #resolve(market: Market, terms: MarketTerms, report: Sweep): void {
    const { id: marketId } = market;
    const verdict = this.#prices.decide(terms);
    if (verdict.kind === "resolved") {
      const { outcome, price, used } = verdict;
      const oracle = { resolutionUrl: null, evidence: feedEvidence(terms, price, used) };
      this.run({ type: "settleMarket", marketId, outcome, oracle });
      report.settled.push(marketId);
    } else if (this.#now >= settlingAt(market, SETTLING_MS)) {
      this.run({ type: "holdMarket", marketId, reason: verdict.reason, detail: verdict.detail });
      report.held.push({ marketId, reason: verdict.reason });
    }
  }
}

/** When a market can be settled: its time is over, and the price of its instant is known. */
function settlingAt({ closeAt, terms }: Market, settlingMs: number): number {
  return terms === null ? closeAt : Math.max(closeAt, decodeTerms(terms).instant + settlingMs);
}

/** The rows of a tenant that lives in memory for as long as one case. It begins empty, so what is not here does not exist. */
class CaseRows implements Reader {
  readonly #rows = new RowMap<Tables[Table]>();
  readonly #positions = new Map<string, Position>();

  get<T extends Table>(table: T, key: string): Tables[T] | undefined {
    const row = table === "holders" ? this.#holdersOf(key) : this.#rows.get(table, key);
    return row as Tables[T] | undefined;
  }

  /** Takes over what a command writes. */
  adopt(writes: readonly RowWrite[]): void {
    for (const { table, key, row } of writes) {
      this.#rows.set(table, key, row);
      if (table === "position") this.#positions.set(key, row);
    }
  }

  #holdersOf(marketId: string): readonly Position[] {
    return [...this.#positions.values()].filter((position) => position.marketId === marketId);
  }
}

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
class StatedPrices {
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
