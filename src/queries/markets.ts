import type { MarketKind, StoredStatus } from "../domain/market/market.ts";
import type { Outcome } from "../domain/market/outcome.ts";
import { isPublicFilter, type StatusFilter, type WaitingFor } from "../domain/market/status-filter.ts";
import { DAY_MS } from "../domain/time/units.ts";
import type { Clarification, MarketEnd } from "../engine/rows.ts";
import { bigint, json, named, nullable, rowReader, text, whole } from "../ledger/codec.ts";
import { keyOfMarket, marketsWithKey } from "../ledger/market-names.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { hasStatus, waitingFor } from "./markets/market-status.ts";
import { PRICED, pricedColumns } from "./priced.ts";
import { marketHours } from "./rollups.ts";

const OPEN = {
  id: text(),
  question: text(),
  category: text(),
  closeAt: whole(),
  resolutionRef: text(),
  meta: text(),
  createdAt: whole(),
  status: text<StoredStatus>(),
  ...PRICED,
  volumeMicro: bigint(),
  outcome: nullable(text<Outcome>()),
  settledAt: nullable(whole()),
  /** The database's clock, which decides whether the market is closed. */
  now: whole(),
};
/** A clarification as readers of the market see it. */
export type ShownClarification = Pick<Clarification, "id" | "text" | "at">;

const KEYED = {
  ...OPEN,
  key: nullable(text()),
  corrections: nullable(json<MarketEnd["corrections"]>()),
  voidReason: nullable(text()),
};
const toMarket = rowReader({ ...KEYED, clarifications: json<ShownClarification[]>() });
const VOLUME = { volume24hMicro: named("volume_24h", bigint()) };
const toListed = rowReader({ ...OPEN, ...VOLUME });
const toChosen = rowReader({ ...KEYED, ...VOLUME, waitingFor: nullable(text<WaitingFor>()) });

/** A market with its state, for the views. */
export type MarketRow = ReturnType<typeof toMarket>;
export type MarketListRow = ReturnType<typeof toListed>;
export type ChosenMarket = ReturnType<typeof toChosen>;

function columns(sql: ReadSql) {
  return sql`m.id, m.question, m.category, m.close_at, m.resolution_ref, m.meta, m.created_at, b.status, b.volume_micro,
             b.outcome, b.settled_at, ${pricedColumns(sql)}, ${nowMs(sql)} as now`;
}

function keyedColumns(sql: ReadSql) {
  return sql`${columns(sql)}, ${keyOfMarket(sql)} as key,
             (select e.corrections from market_end e where e.market_id = m.id) as corrections,
             (select e.reason from market_end e where e.market_id = m.id) as void_reason`;
}

/** The columns of one market, with its clarifications, oldest first. */
function wholeColumns(sql: ReadSql) {
  return sql`
    ${keyedColumns(sql)},
    (select coalesce(json_agg(json_build_object('id', c.id, 'text', c.text, 'at', c.at) order by c.position), '[]')
       from clarification c
      where c.market_id = m.id)::text as clarifications`;
}

/** Markets by id; the map leaves out unknown ids. */
export async function findMarkets(sql: ReadSql, ids: readonly string[]): Promise<Map<string, MarketRow>> {
  const rows = await sql`
    select ${wholeColumns(sql)}
      from market m
      join book b on b.market_id = m.id
     where m.id = any(${textArray(ids)}::text[])`;
  return new Map(rows.map((row) => [row.id as string, toMarket(row)]));
}

/** One market; undefined for an unknown id. */
export async function findMarket(sql: ReadSql, id: string): Promise<MarketRow | undefined> {
  return (await findMarkets(sql, [id])).get(id);
}

/** The market that has or had a key, settled or not. */
export async function findMarketByKey(sql: ReadSql, key: string): Promise<MarketRow | undefined> {
  const [row] = await sql`
    select ${wholeColumns(sql)}
      from market m
      join book b on b.market_id = m.id
     where m.id = any(${marketsWithKey(sql, sql`${key}::text`)})`;
  return row && toMarket(row);
}

/** A search with more possible matches is not sorted: it walks the markets in the order of the list instead. */
const MOST_SORTED = 5000;
/** How many markets such a walk reads after the last one of the previous page. */
const MOST_WALKED = 10_000;

export interface MarketQuery {
  category?: string | undefined;
  kind?: MarketKind | undefined;
  q?: string | undefined;
  limit: number;
  /** The last market of the previous page. */
  after?: { closeAt: number; id: string } | undefined;
}

/** Markets that take trades now, by closing time. Volumes are those of the last 24 whole hours, from the rollup. */
export async function listOpenMarkets(sql: ReadSql, query: MarketQuery): Promise<MarketListRow[]> {
  const isCommon = await hasCommonWords(sql, query);
  const rows = await sql`
    with page as materialized (
      select m.id
        from ${chosenFrom(sql, query, isCommon)} m
        join book b on b.market_id = m.id
       where b.status = 'open'
         and m.close_at > ${nowMs(sql)}
         ${matches(sql, query)}
       order by m.close_at, m.id
       limit ${query.limit}
    )
    select ${columns(sql)}, coalesce(v.volume_micro, 0)::bigint as volume_24h
      from page
      join market m on m.id = page.id
      join book b on b.market_id = m.id
      left join lateral ${lastDay(sql)} v on true
     order by m.close_at, m.id`;
  return rows.map(toListed);
}

/**
 * The candidates for a list. A search for very common words only reads the markets that close next, so that no public
 * search costs much more than another.
 */
function chosenFrom(sql: ReadSql, query: MarketQuery, isCommon: boolean) {
  if (!query.q) return sql`market`;
  return isCommon ? soonToClose(sql, query) : withWords(sql, query.q);
}

/**
 * Whether more markets may have these words than a search sorts. For a phrase, its words are counted, so that no row is
 * read in vain. The index knows nothing about words that are only excluded.
 */
async function hasCommonWords(sql: ReadSql, { q }: MarketQuery): Promise<boolean> {
  if (!q) return false;
  // Written into the statement: for an unknown number PostgreSQL plans to read the table rather than the index.
  const most = sql.unsafe(String(MOST_SORTED + 1));
  const [row] = await sql`
    with asked as materialized (select regexp_replace(${searchQuery(sql, q)}::text, '<(-|[0-9]+)>', '&', 'g')::tsquery as words)
    select case
             when numnode(words) = 0 then false
             when querytree(words) = 'T' then true
             else (select count(*) > ${MOST_SORTED}
                     from (select from market where market.words @@ (select words from asked) limit ${most}) found)
           end as common
      from asked`;
  return row?.common === true;
}

/** The markets with these words, from the index. */
function withWords(sql: ReadSql, q: string) {
  return sql`(select * from market where words @@ ${searchQuery(sql, q)} offset 0)`;
}

/** The markets that close next, in this order, after the last one of the previous page. */
function soonToClose(sql: ReadSql, { after }: MarketQuery) {
  return sql`(
          select *
            from market
           where close_at > ${nowMs(sql)}
             ${after ? sql`and (close_at, id) > (${after.closeAt}, ${after.id})` : sql``}
           order by close_at, id
           limit ${MOST_WALKED}
        )`;
}

/**
 * Markets in the states of a filter, by closing time: those that closed first at the top. The page is found before its
 * volumes are summed, so that no other market's volume is.
 */
export async function listMarketsByStatus(
  sql: ReadSql,
  filter: StatusFilter,
  query: MarketQuery,
): Promise<ChosenMarket[]> {
  // Operators see all matches of a search, at whatever cost.
  const isCommon = isPublicFilter(filter) && (await hasCommonWords(sql, query));
  const rows = await sql`
    with page as materialized (
      select m.id
        from ${chosenFrom(sql, query, isCommon)} m
        join book b on b.market_id = m.id
       where ${hasStatus(sql, filter)}
         ${matches(sql, query)}
       order by m.close_at, m.id
       limit ${query.limit}
    )
    select ${keyedColumns(sql)}, coalesce(v.volume_micro, 0)::bigint as volume_24h,
           ${filter.waiting ? waitingFor(sql) : sql`null`} as waiting_for
      from page
      join market m on m.id = page.id
      join book b on b.market_id = m.id
      left join lateral ${lastDay(sql)} v on true
     order by m.close_at, m.id`;
  return rows.map(toChosen);
}

/**
 * The typed text, as the tenant's search configuration reduces it, or word for word, which also finds words that the
 * configuration drops. It is a subquery, so that it is computed once and not for each row.
 */
export function searchQuery(sql: ReadSql, typed: string) {
  const words = typed.replace(BETWEEN_WORDS, (marks) => (DASHES.test(marks) ? " " : marks));
  return sql`(select websearch_to_tsquery(market_search_configuration(), ${words})
                     || websearch_to_tsquery('pg_catalog.simple', ${words}))`;
}

const BETWEEN_WORDS = /[^\p{L}\p{N}]+/gu;
/** PostgreSQL takes each dash before a word for an operator, and accepts only a few in a row. */
const DASHES = /-.*-.*-/s;

/** The further conditions of a query on a market `m`, each after an `and`. */
function matches(sql: ReadSql, { category, kind, q, after }: MarketQuery) {
  return sql`
       ${category ? sql`and m.category = ${category}` : sql``}
       ${kind ? sql`and m.kind = ${kind}` : sql``}
       ${q ? sql`and m.words @@ ${searchQuery(sql, q)}` : sql``}
       ${after ? sql`and (m.close_at, m.id) > (${after.closeAt}, ${after.id})` : sql``}`;
}

/** The volume of a market `m` in the whole hours of the last day. */
function lastDay(sql: ReadSql) {
  return sql`(
        select sum(h.volume_micro) as volume_micro
          from ${marketHours(sql)} h
         where h.market_id = m.id
           and h.hour > ${nowMs(sql)} - ${DAY_MS}::bigint
      )`;
}
