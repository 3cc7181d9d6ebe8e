import type { AuditKey } from "../domain/audit/seal.ts";
import { decimalText, parseDecimal } from "../domain/decimal.ts";
import type { FeedDefinition, FeedSource } from "../domain/feeds/feed.ts";
import type { Source } from "../domain/feeds/source.ts";
import { JUMP_MEMORY_MS, lookbackMs, type SourceRecord } from "../domain/market/resolution.ts";
import type { MarketTerms } from "../domain/market/terms.ts";
import { recordTicks, type TickRow } from "../ledger/unchained/oracle-ticks.ts";
import type { ReadSql } from "../postgres/connect.ts";
import type { Pool } from "../postgres/pool.ts";
import { listTicks } from "../queries/oracle.ts";
import { type Fetched, keyOf, type SourceSymbol } from "./fetch.ts";

/** The sources of a feed that the tenant can use. */
export function usableSources(feed: FeedDefinition, sources: ReadonlyMap<string, Source>): FeedSource[] {
  return feed.sources.filter(({ use }) => sources.has(use));
}

/** The symbol to request from a feed's source. */
export const symbolOf = ({ use, id }: FeedSource): SourceSymbol => ({ source: use, symbol: id });

/** The stored observations of a feed up to an instant, and when each source last answered. */
export async function readRecords(
  sql: ReadSql,
  feed: FeedDefinition,
  terms: Pick<MarketTerms, "instant" | "rule">,
  sources: ReadonlyMap<string, Source>,
  keys: readonly AuditKey[],
): Promise<SourceRecord[]> {
  const usable = usableSources(feed, sources);
  if (usable.length === 0) return [];
  const from = terms.instant - lookbackMs(feed, terms) - JUMP_MEMORY_MS;
  const ticks = Map.groupBy(await listTicks(sql, usable.map(symbolOf), from, keys), keyOf);
  return usable.map((source) => {
    const own = ticks.get(keyOf(symbolOf(source))) ?? [];
    return {
      source,
      upstream: upstreamOf(source.use, sources),
      observations: own.filter(({ observedAt }) => observedAt <= terms.instant).flatMap(observationOf),
      confirmedAt: own.reduce<number | null>((last, { confirmedAt }) => Math.max(last ?? 0, confirmedAt), null),
    };
  });
}

function observationOf({ observedAt, price, conf, receivedAt }: TickRow): SourceRecord["observations"] {
  const value = parseDecimal(price);
  return value
    ? [{ observedAt, price: value, conf: conf === null ? null : (parseDecimal(conf) ?? null), receivedAt }]
    : [];
}

/** The origin of a source's prices: two names with the same URL have one upstream, and a source may state its own. */
export function upstreamOf(name: string, sources: ReadonlyMap<string, Source>): string {
  const source = sources.get(name);
  if (source?.upstream !== undefined) return `upstream ${source.upstream}`;
  if (source?.kind !== "http") return name;
  for (const [other, { kind, ...rest }] of sources)
    if (kind === "http" && "url" in rest && rest.url === source.url) return other;
  return name;
}

/** Stores the sources' answers. */
export async function keepTicks(
  { pool, auditKey }: { pool: Pick<Pool, "write">; auditKey: AuditKey },
  fetched: readonly Fetched[],
): Promise<void> {
  const ticks = fetched.flatMap((each): TickRow[] => {
    if ("failure" in each) return [];
    const { source, symbol, reading, receivedAt } = each;
    const { observedAt, price, conf } = reading;
    const texts = { price: decimalText(price), conf: conf && decimalText(conf) };
    return [{ source, symbol, observedAt, ...texts, receivedAt, confirmedAt: receivedAt }];
  });
  // One statement cannot change a row twice.
  const distinct = [...new Map(ticks.map((tick) => [`${keyOf(tick)}\n${tick.observedAt}`, tick])).values()];
  if (distinct.length > 0) await pool.write((sql) => recordTicks(sql, distinct, auditKey));
}
