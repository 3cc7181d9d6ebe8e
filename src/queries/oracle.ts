import type { AuditKey } from "../domain/audit/seal.ts";
import { DAY_MS } from "../domain/time/units.ts";
import { nullable, rowReader, text, whole } from "../ledger/codec.ts";
import { isSealedTick, type TickRow, toTick } from "../ledger/unchained/oracle-ticks.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";

/** A resolution from its audit entry. */
export interface ResolutionRow {
  seq: string;
  ts: string;
  question: string;
  /** The market's frozen terms; null for a market without a feed. */
  terms: string | null;
  payload: string;
}

export interface OracleFigures {
  eligibleMarkets: number;
  /** Null before the first sweep. */
  sweptAt: number | null;
  resolutions: ResolutionRow[];
}

/** The oracle's state, which every process can read, whichever process sweeps. Newest resolutions first. */
export async function readOracleFigures(sql: ReadSql, limit: number): Promise<OracleFigures> {
  const [[counts], resolutions] = await Promise.all([
    sql<{ eligible: number; swept_at: string | null }[]>`
      select (select count(*) from oracle_watch where parsed and not settled)::int4 as eligible, swept_at
        from oracle_sweep`,
    sql<ResolutionRow[]>`
      select a.seq, a.ts, m.question, m.terms, a.payload
        from (select * from audit where type = 'oracle.resolved' order by seq desc limit ${limit}) a
        join market m on m.id = audit_json(a.payload) ->> 'marketId'
       order by a.seq desc`,
  ]);
  return {
    eligibleMarkets: counts?.eligible ?? 0,
    sweptAt: counts?.swept_at ? Number(counts.swept_at) : null,
    resolutions,
  };
}

const toHeld = rowReader({
  id: text(),
  question: text(),
  resolutionRef: text(),
  reason: text(),
  detail: text(),
  heldAt: whole(),
});
export type HeldRow = ReturnType<typeof toHeld>;

/** Whether an oracle left a watch's market to a person. Failures of a cleared `resolution_url` no longer count. */
export function isHeld(sql: ReadSql) {
  return sql`w.reason is not null and not w.settled
       and (w.reason <> 'resolution_url failed'
            or exists (select 1 from tenant where policy::jsonb ->> 'resolution_url' is not null))`;
}

/** Markets that wait although their time has come, the longest first. */
export async function listHeldMarkets(
  sql: ReadSql,
  filter: { id?: string | undefined; limit: number },
): Promise<HeldRow[]> {
  const { id, limit } = filter;
  const rows = await sql`
    select m.id, m.question, m.resolution_ref, w.reason, w.detail, w.held_at
      from oracle_watch w
      join market m on m.id = w.market_id
     where ${isHeld(sql)}
       ${id === undefined ? sql`` : sql`and w.market_id = ${id}`}
     order by w.held_at, w.market_id
     limit ${limit}`;
  return rows.map(toHeld);
}

/** The number of held markets, and the age of each source symbol's newest observation within the last day. */
export async function readOracleGauges(
  sql: ReadSql,
): Promise<{ held: number; symbols: { source: string; symbol: string; ageSec: number }[] }> {
  const [[row], symbols] = await Promise.all([
    sql<{ held: number }[]>`
      select count(*)::int4 as held from oracle_watch w where ${isHeld(sql)}`,
    sql<{ source: string; symbol: string; ageSec: number }[]>`
      select source, symbol, (extract(epoch from now()) - max(observed_at) / 1000.0)::float8 as "ageSec"
        from oracle_tick
       where received_at > ${nowMs(sql)} - ${DAY_MS}::bigint
       group by source, symbol`,
  ]);
  return { held: row?.held ?? 0, symbols: [...symbols] };
}

/** The end of a page of markets. */
export interface MarketMark {
  at: number;
  id: string;
}

/** The next instant that decides a market; null without one. */
export async function readNextInstant(sql: ReadSql, now: number): Promise<number | null> {
  const [row] = await sql<{ instant: string | null }[]>`
    select min(instant_at) as instant
      from oracle_watch
     where parsed
       and not settled
       and instant_at > ${String(now)}::bigint`;
  return row?.instant ? Number(row.instant) : null;
}

const toWatched = rowReader({
  id: text(),
  closeAt: whole(),
  instantAt: whole(),
  terms: text(),
  /** Why the market is held; null while it is not. */
  reason: nullable(text()),
});
export type WatchedRow = ReturnType<typeof toWatched>;

/**
 * Whether the oracle may decide a market `m`: no proposal about it waits, and no person rejected the oracle's own.
 */
export function isLeftToOracle(sql: ReadSql) {
  return sql`not exists (
       select 1
         from proposal
        where proposal.market_id = m.id
          and (proposal.status = 'pending' or (proposal.status = 'rejected' and proposal.proposed_by = 'oracle'))
     )`;
}

/** Markets of the built-in oracle whose instant is at or before `until`, by instant, without suspended ones. */
export async function listWatchedMarkets(
  sql: ReadSql,
  page: { until: number; after: MarketMark | undefined; limit: number },
): Promise<WatchedRow[]> {
  const { until, after, limit } = page;
  const rows = await sql`
    select m.id, m.close_at, w.instant_at, w.reason, m.terms
      from oracle_watch w
      join book b on b.market_id = w.market_id and b.status = 'open'
      join market m on m.id = w.market_id
     where w.parsed
       and not w.settled
       and w.instant_at <= ${String(until)}::bigint
       and ${isLeftToOracle(sql)}
       ${after ? sql`and (w.instant_at, w.market_id) > (${String(after.at)}::bigint, ${after.id})` : sql``}
     order by w.instant_at, w.market_id
     limit ${limit}`;
  return rows.map(toWatched);
}

/** The frozen definition of a feed, for the unsettled markets that rely on it. */
export interface PromiseRow {
  feed: string;
  feedSha256: string;
  markets: number;
  /** The market that is decided first. */
  first: string;
}

/** The feeds that the built-in oracle's unsettled markets rely on. */
export async function listPromises(sql: ReadSql): Promise<PromiseRow[]> {
  const rows = await sql<PromiseRow[]>`
    select t.feed, t.sha as "feedSha256", count(*)::int4 as markets, (array_agg(t.id order by t.instant_at, t.id))[1] as first
      from (select m.id, w.instant_at, m.terms::jsonb ->> 'feed' as feed, m.terms::jsonb ->> 'feedSha256' as sha
              from oracle_watch w
              join market m on m.id = w.market_id
             where w.parsed
               and not w.settled) t
     group by t.feed, t.sha
     order by min(t.instant_at), t.feed`;
  return [...rows];
}

const toClosed = rowReader({
  id: text(),
  question: text(),
  resolutionRef: text(),
  closeAt: whole(),
  meta: text(),
  terms: nullable(text()),
});
export type ClosedRow = ReturnType<typeof toClosed>;

/** Unsettled markets past their closing time, by id, without suspended ones. */
export async function listClosedMarkets(
  sql: ReadSql,
  page: { now: number; after: string; limit: number },
): Promise<ClosedRow[]> {
  const rows = await sql`
    select m.id, m.question, m.resolution_ref, m.close_at, m.meta, m.terms
      from book b
      join market m on m.id = b.market_id
     where b.status = 'open'
       and m.close_at <= ${String(page.now)}::bigint
       and ${isLeftToOracle(sql)}
       and m.id > ${page.after}
     order by m.id
     limit ${page.limit}`;
  return rows.map(toClosed);
}

/** Ticks of some symbols from `from` on, by time; only those that one of these keys sealed. */
export async function listTicks(
  sql: ReadSql,
  symbols: readonly { source: string; symbol: string }[],
  from: number,
  keys: readonly AuditKey[],
): Promise<TickRow[]> {
  const rows = await sql`
    select source, symbol, observed_at, price, conf, received_at, confirmed_at, seal, confirmed_seal
      from oracle_tick
     where (source, symbol) in (
             select * from unnest(
               ${textArray(symbols.map(({ source }) => source))}::text[],
               ${textArray(symbols.map(({ symbol }) => symbol))}::text[]
             ))
       and observed_at >= ${String(from)}::bigint
     order by observed_at`;
  return rows.map(toTick).filter((tick) => isSealedTick(tick, keys));
}

const toSample = rowReader({
  source: text(),
  symbol: text(),
  observedAt: whole(),
  price: text(),
  receivedAt: whole(),
  confirmedAt: whole(),
});
export type SampleRow = ReturnType<typeof toSample>;

/** The newest observations of each of a feed's sources, by time; at most `limit` of each. */
export async function listSamples(
  sql: ReadSql,
  sources: readonly { use: string; id: string }[],
  limit: number,
): Promise<SampleRow[]> {
  const rows = await sql`
    select tick.source, tick.symbol, tick.observed_at, tick.price, tick.received_at, tick.confirmed_at
      from ${feedSources(sql, sources)}
     cross join lateral (
             select *
               from oracle_tick t
              where t.source = feed.source
                and t.symbol = feed.symbol
              order by observed_at desc
              limit ${limit}) as tick
     order by tick.observed_at`;
  return rows.map(toSample);
}

function feedSources(sql: ReadSql, sources: readonly { use: string; id: string }[]) {
  return sql`unnest(
             ${textArray(sources.map(({ use }) => use))}::text[],
             ${textArray(sources.map(({ id }) => id))}::text[]
           ) as feed (source, symbol)`;
}

/** The newest price from any of a feed's sources. */
export async function readLatestPrice(
  sql: ReadSql,
  sources: readonly { use: string; id: string }[],
): Promise<string | undefined> {
  const [row] = await sql<{ price: string }[]>`
    select tick.price
      from ${feedSources(sql, sources)}
     cross join lateral (
             select price, observed_at
               from oracle_tick t
              where t.source = feed.source
                and t.symbol = feed.symbol
              order by observed_at desc
              limit 1) as tick
     order by tick.observed_at desc
     limit 1`;
  return row?.price;
}
