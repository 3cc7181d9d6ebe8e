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

/** The result of an oracle's sweep, in the form of `POST /v1/oracle/sweep`. */
interface Sweep {
  watched: number;
  asked: number;
  settled: string[];
  held: { marketId: string; reason: string }[];
}

/**
 * A tenant in memory: the engine's rows, and a clock that moves only when the case waits. What a server does by itself
 * (closings, settlements by the oracle, holds) happens at the moment at which it is due.
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
   * Decides a command now, and stores what it writes.
   * @throws Fault when the command is refused
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

  /** A market with its state and its status now; undefined where there is none. */
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
   * Runs the oracle's sweep now. A stated price is final, so a market can be settled from its instant on; a server
   * waits two seconds longer, and so does the first sweep that may hold the market.
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

  /** Asks no oracle at an address, because a case never leaves the machine: its `settle` step states the answer. */
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

/** When a market can be settled: its time has come, and the price of its instant is known. */
function settlingAt({ closeAt, terms }: Market, settlingMs: number): number {
  return terms === null ? closeAt : Math.max(closeAt, decodeTerms(terms).instant + settlingMs);
}

/** The rows of a tenant that exists in memory during one case. It begins empty, so a missing row does not exist. */
class CaseRows implements Reader {
  readonly #rows = new RowMap<Tables[Table]>();
  readonly #positions = new Map<string, Position>();

  get<T extends Table>(table: T, key: string): Tables[T] | undefined {
    const row = table === "holders" ? this.#holdersOf(key) : this.#rows.get(table, key);
    return row as Tables[T] | undefined;
  }

  /** Stores what a command writes. */
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

/** A tenant's feeds without its secrets, which decide what a source answers: in a case the case itself says that. */
export interface TenantFeeds {
  feeds: ReadonlyMap<string, FeedDefinition>;
  hashes: FeedHashes;
  sources: ReadonlyMap<string, Source>;
}

export function feedsOf(config: TenantConfig): TenantFeeds {
  const { feeds, hashes } = tenantFeeds(config);
  return { feeds, hashes, sources: statedSources(config).ready };
}

/** The prices that a case has stated for the sources of a tenant's feeds. */
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
   * The verdict on a market by the prices stated up to its instant. A source that has stated a price counts as
   * answering after the instant too, so only the stated prices decide.
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
