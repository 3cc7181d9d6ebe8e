import type { AuditEntry, ChainPoint } from "../domain/audit/audit-link.ts";
import type { SealedLines } from "../domain/audit/chain-walk.ts";
import { formatTimestamp } from "../domain/time/timestamp.ts";
import { HOUR_MS } from "../domain/time/units.ts";
import { TABLES } from "../ledger/tables.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import {
  type AuditFilter,
  type AuditQuery,
  type AuditRange,
  auditCandidates,
  inside,
  states,
  traderIn,
} from "./audit-candidates.ts";

/** Some matching entries, and how far the search has read. */
export interface AuditSearch {
  entries: AuditEntry[];
  /** The last entry that was read; undefined when no further one can match. */
  reached: bigint | undefined;
}

/** The entries that one search by text reads: some 100 ms of the database's work, whatever the text. */
const SEARCHED = 50_000n;
/** The entries among which one search looks for a market's trades, in about the same time. */
const TRADES_SEARCHED = 500_000n;

/**
 * Entries that match all of a filter. Neither texts nor the trades of a market have an index, since every trade would
 * pay for it: for these a search reads a part of the log, and the caller continues from its end.
 */
export async function searchAudit(sql: ReadSql, query: AuditQuery): Promise<AuditSearch> {
  if (!isSearch(query)) return { entries: await listAuditEntries(sql, query), reached: undefined };
  const { marketId = "", q } = query;
  const place = q === undefined ? await tradedPlace(sql, marketId) : await wholePlace(sql);
  const { reached, ...range } = partOf(query, place, q === undefined ? TRADES_SEARCHED : SEARCHED);
  const part = { ...query, ...range };
  return {
    entries: await (q === undefined ? listAuditEntries(sql, { ...part, traded: place }) : entriesWith(sql, part)),
    reached,
  };
}

/** Whether a filter needs a search, because no index serves it alone. */
export function isSearch({ q, marketId, type, ...filter }: AuditFilter): boolean {
  const isOfTrades = type === undefined || type === "trade.executed";
  return q !== undefined || (marketId !== undefined && isOfTrades && traderIn(filter) === undefined);
}

/** Where the entries are that need a search. */
interface Place {
  after: bigint;
  before: bigint;
  /** The log's end when the place was found: later entries are none of this search. */
  end: bigint;
}

async function wholePlace(sql: ReadSql): Promise<Place> {
  const end = (await readAuditHead(sql)).seq + 1n;
  return { after: 0n, before: end, end };
}

/** Where the trades of a market are, by the hours in which it was traded. */
async function tradedPlace(sql: ReadSql, marketId: string): Promise<Place> {
  const [row] = await sql<{ end: string; since: string | null; until: string | null }[]>`
    select (select coalesce(max(seq), 0) + 1 from audit) as "end", min(hour) as since, max(hour) + ${HOUR_MS} as until
      from (
        select hour from market_hour where market_id = ${marketId}
         union all
        select hour from book where market_id = ${marketId}
      ) traded
     where hour > 0`;
  const end = BigInt(row?.end ?? 1);
  if (!row?.since) return { after: 0n, before: 1n, end };
  const { after = 0n, before = end } = await boundsOf(sql, { since: Number(row.since), until: Number(row.until) });
  return { after, before, end };
}

/** The part of a query's range that one search reads. */
function partOf(query: AuditQuery, place: Place, most: bigint): AuditRange & Pick<AuditSearch, "reached"> {
  const { after, oldestFirst } = query;
  const before = earlier(query.before, place.end);
  if (oldestFirst) {
    const reached = later(after, place.after) + most;
    const isLast = reached + 1n >= earlier(before, place.before);
    return isLast ? { after, before, reached: undefined } : { after, before: reached + 1n, reached };
  }
  const reached = earlier(before, place.before) - most;
  const isLast = reached - 1n <= later(after, place.after);
  return isLast ? { after, before, reached: undefined } : { after: reached - 1n, before, reached };
}

/** The entries of a range that hold a text. */
async function entriesWith(sql: ReadSql, query: AuditQuery): Promise<AuditEntry[]> {
  const { type, actor, userId, marketId, q = "", before, after, oldestFirst, limit } = query;
  // With the rules of C, since folding the letters of every script takes ten times as long.
  const holds = (text: string) => sql`strpos(lower(${sql.unsafe(text)} collate "C"), lower(${q} collate "C")) > 0`;
  const rows = await sql`
    select ${sql.unsafe(TABLES.audit.selected("a"))}
      from audit a
     where (${holds("a.type || ' ' || a.actor || ' ' || a.payload")}
            or substring(a.payload from '"marketId":"([^"]+)"') in (select m.id from market m where ${holds("m.question")}))
       ${type === undefined ? sql`` : sql`and a.type = ${type}`}
       ${actor === undefined ? sql`` : sql`and a.actor = ${actor}`}
       ${userId === undefined ? sql`` : states(sql, "userId", userId)}
       ${marketId === undefined ? sql`` : states(sql, "marketId", marketId)}
       ${inside(sql, "a.seq", { before, after })}
     order by a.seq ${oldestFirst ? sql`asc` : sql`desc`}
     limit ${limit}`;
  return rows.map(TABLES.audit.decode);
}

/** The higher of two numbers; either may be absent. */
export function later<Other extends bigint | undefined>(a: bigint | undefined, b: Other): bigint | Other {
  return a !== undefined && (b === undefined || a > b) ? a : b;
}

/** The lower of two numbers; either may be absent. */
export function earlier<Other extends bigint | undefined>(a: bigint | undefined, b: Other): bigint | Other {
  return a !== undefined && (b === undefined || a < b) ? a : b;
}

/** The range of entries between two times, from `since` on and before `until`. */
export async function boundsOf(
  sql: ReadSql,
  { since, until }: { since?: number | undefined; until?: number | undefined },
): Promise<{ after: bigint | undefined; before: bigint | undefined }> {
  return {
    after: since === undefined ? undefined : (await firstEntrySince(sql, since)) - 1n,
    before: until === undefined ? undefined : await firstEntrySince(sql, until),
  };
}

/**
 * The first entry at an instant or later; the one after the head if there is none. Times never decrease along the
 * chain, so halving finds it in some twenty probes of the primary key.
 * @param ts in milliseconds since 1970
 */
async function firstEntrySince(sql: ReadSql, ts: number): Promise<bigint> {
  const [row] = await sql<{ seq: string }[]>`
    with recursive range (low, high) as (
      select 1::bigint, (select coalesce(max(seq), 0) + 1 from audit)
       union all
      select case when probe.ts collate "C" < ${formatTimestamp(ts)} then half.seq + 1 else low end,
             case when probe.ts collate "C" < ${formatTimestamp(ts)} then high else half.seq end
        from range
       cross join lateral (select (low + high) / 2 as seq) half
       cross join lateral (select a.ts from audit a where a.seq >= half.seq order by a.seq limit 1) probe
       where low < high
    )
    select low as seq from range where low = high`;
  return BigInt(row?.seq ?? 1);
}

/** The entry of a number, if there is one. */
export async function findAuditEntry(sql: ReadSql, seq: bigint): Promise<AuditEntry | undefined> {
  const [row] = await sql`
    select ${sql.unsafe(TABLES.audit.selected("a"))} from audit a where a.seq = ${String(seq)}`;
  return row && TABLES.audit.decode(row);
}

/** The questions of markets by id. A question never changes. */
export async function readQuestions(sql: ReadSql, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ id: string; question: string }[]>`
    select id, question from market where id = any(${textArray(ids)}::text[])`;
  return new Map(rows.map(({ id, question }) => [id, question]));
}

/** Entries without a search by text. */
export async function listAuditEntries(sql: ReadSql, query: AuditQuery): Promise<AuditEntry[]> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.audit.selected("a"))}
      from ${candidates(sql, query)}
     order by a.seq ${query.oldestFirst ? sql`asc` : sql`desc`}`;
  return rows.map(TABLES.audit.decode);
}

/** The candidates' rows. Each is read by its number: a merge of both would walk the log between them. */
function candidates(sql: ReadSql, query: AuditQuery) {
  return sql`
    (select found.seq
       from (${auditCandidates(sql, query)}) found
      order by found.seq ${query.oldestFirst ? sql`asc` : sql`desc`}
      limit ${query.limit}) c
     cross join lateral (select * from audit where seq = c.seq offset 0) a`;
}

/**
 * Entries in order, starting with `from`. The database joins the lines, and a page travels as one text: a row of seven
 * columns per entry would cost more than the HMAC that checks it. A separator smuggled into a field splits the entry
 * into pieces that do not verify.
 */
export async function readSealedLines(sql: ReadSql, from: bigint, limit: number): Promise<SealedLines[]> {
  const [row] = await sql<{ page: string | null }[]>`
    select string_agg(
             key_id || chr(10) || seq || chr(10) || ts || chr(10) || type || chr(10) || actor || chr(10) || payload
               || chr(31) || hash,
             chr(30)
           ) as page
      -- One plain aggregate keeps the order of its input; sorting inside it would cost more than the rest.
      from (select * from audit where seq >= ${String(from)} order by seq limit ${limit}) as entry`;
  if (!row?.page) return [];
  return row.page.split("\x1e").map((entry) => {
    const end = entry.lastIndexOf("\x1f");
    return { lines: entry.slice(0, end), hash: entry.slice(end + 1) };
  });
}

/** The head row, which reveals a cut tail, and the database's time in milliseconds. */
export async function readAuditHead(sql: ReadSql): Promise<ChainPoint & { readAt: number }> {
  const [row] = await sql<{ seq: string; hash: string; read_at: number }[]>`
    select seq, hash, (extract(epoch from clock_timestamp()) * 1000)::float8 as read_at from head where id = 1`;
  if (!row) throw new Error("The head row is missing");
  return { seq: BigInt(row.seq), hash: row.hash, readAt: Math.floor(row.read_at) };
}

export interface LinesQuery extends AuditFilter {
  after: bigint;
  /** The last entry to read. */
  upTo: bigint;
  /** The most entries to read. */
  limit: number;
}

/** Entries in order, as one text, because a row of seven columns for each would cost the most. */
export interface PackedEntries {
  /** Entries separated by {@link ENTRY_END}, fields by line breaks: key, seq, time, type, actor, hash, payload. */
  packed: string;
  /** The last entry; undefined for none. */
  last: bigint | undefined;
  /** Whether each payload is a JSON object. The statement fails for text that is not JSON. */
  areObjects: boolean;
}

export const ENTRY_END = "\x1e";

/** @throws PostgresError 22P02 when a payload is not JSON, which only tampering can cause */
export async function readPacked(sql: ReadSql, query: LinesQuery): Promise<PackedEntries> {
  const { after, upTo, limit, type, actor, userId, marketId } = query;
  const isWhole = [type, actor, userId, marketId].every((term) => term === undefined);
  const [row] = await sql<{ packed: string | null; last: string | null; are_objects: boolean | null }[]>`
    select string_agg(
             -- Joined with ||, because concat_ws looks the types of its arguments up for every row.
             key_id || chr(10) || seq || chr(10) || ts || chr(10) || type || chr(10) || actor || chr(10) || hash || chr(10) || payload,
             chr(30)
           ) as packed,
           max(seq) as last,
           bool_and(json_typeof(payload::json) = 'object') as are_objects
      from (${
        isWhole
          ? sql`select * from audit where seq > ${String(after)} and seq <= ${String(upTo)} order by seq limit ${limit}`
          : sql`select a.*
                  from ${candidates(sql, { ...query, oldestFirst: true })}
                 where a.seq <= ${String(upTo)}
                 order by a.seq`
      }) as entry`;
  return {
    packed: row?.packed ?? "",
    last: row?.last ? BigInt(row.last) : undefined,
    areObjects: row?.are_objects ?? true,
  };
}
