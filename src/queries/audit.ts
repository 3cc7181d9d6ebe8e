import type { AuditEntry, ChainPoint } from "../domain/audit/audit-link.ts";
import type { AuditType } from "../domain/audit/audit-payloads.ts";
import type { SealedLines } from "../domain/audit/chain-walk.ts";
import { formatTimestamp } from "../domain/time/timestamp.ts";
import { TABLES } from "../ledger/tables.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** Selects entries; all of them unless given. */
export interface AuditFilter {
  type?: string | undefined;
  actor?: string | undefined;
  /** Named in the payload. */
  userId?: string | undefined;
  /** Named in the payload. */
  marketId?: string | undefined;
  /** Text in the type, the actor, the payload, or the question of the market in the payload. */
  q?: string | undefined;
}

export interface AuditQuery extends AuditFilter {
  /** Only entries before this one. */
  before?: bigint | undefined;
  /** Only entries after this one. */
  after?: bigint | undefined;
  /** Newest first unless set. */
  oldestFirst?: boolean | undefined;
  limit: number;
}

/** Some matching entries, and how far the search has read. */
export interface AuditSearch {
  entries: AuditEntry[];
  /** The last entry that was read; undefined when no further one can match. */
  reached: bigint | undefined;
}

/** The entries that one search reads: some 100 ms of the database's work, whatever the text. */
const SEARCHED = 50_000n;

/** The types whose entries have an index by the user in the payload. */
const OF_USER: readonly string[] = ["kyc.updated", "user.restricted", "suitability.submitted"] satisfies AuditType[];

/**
 * Entries that match all of a filter. Payloads have no index, since every trade would pay for it. So a search reads a
 * part of the log, and the caller continues from its end. Only the rare entries about a user's rights are all found at once.
 */
export async function searchAudit(sql: ReadSql, query: AuditQuery): Promise<AuditSearch> {
  if (!isSearch(query)) return { entries: await listAuditEntries(sql, query), reached: undefined };
  const { after = 0n, oldestFirst, limit } = query;
  const before = query.before ?? (await readAuditHead(sql)).seq + 1n;
  const isOfUser = query.userId !== undefined && OF_USER.includes(query.type ?? "");
  const from = oldestFirst || isOfUser ? after : later(after, before - SEARCHED);
  const to = oldestFirst && !isOfUser ? earlier(before, after + SEARCHED) : before;
  const rows = await sql`
    select ${sql.unsafe(TABLES.audit.selected("a"))}
      from audit a
     where a.seq > ${String(from)} and a.seq < ${String(to)} ${matching(sql, query)}
       ${isOfUser ? ofUser(sql, query.userId ?? "") : sql``}
     order by a.seq ${oldestFirst ? sql`asc` : sql`desc`}
     limit ${limit}`;
  const isWhole = oldestFirst ? to === before : from === after;
  const edge = oldestFirst ? to - 1n : from + 1n;
  return { entries: rows.map(TABLES.audit.decode), reached: isWhole ? undefined : edge };
}

/** The condition of the index is repeated, so that the planner knows that it may use it. */
function ofUser(sql: ReadSql, userId: string) {
  const types = sql.unsafe(OF_USER.map((type) => `'${type}'`).join(", "));
  return sql`and a.type in (${types}) and audit_json(a.payload) ->> 'userId' = ${userId}`;
}

/** Whether a filter needs a search, because no index serves it. */
export function isSearch({ userId, marketId, q }: AuditFilter): boolean {
  return userId !== undefined || marketId !== undefined || q !== undefined;
}

/** Payloads are canonical JSON with escaped quotes, so a field's text cannot match inside another text. */
function matching(sql: ReadSql, { type, actor, userId, marketId, q }: AuditFilter) {
  const states = (field: string, value: string) =>
    sql`and strpos(a.payload, ${`${JSON.stringify(field)}:${JSON.stringify(value)}`}) > 0`;
  // With the rules of C, since folding the letters of every script takes ten times as long.
  const holds = (text: string) =>
    sql`strpos(lower(${sql.unsafe(text)} collate "C"), lower(${q ?? ""} collate "C")) > 0`;
  return sql`
    ${type === undefined ? sql`` : sql`and a.type = ${type}`}
    ${actor === undefined ? sql`` : sql`and a.actor = ${actor}`}
    ${userId === undefined ? sql`` : states("userId", userId)}
    ${marketId === undefined ? sql`` : states("marketId", marketId)}
    ${
      q === undefined
        ? sql``
        : sql`and (${holds("a.type || ' ' || a.actor || ' ' || a.payload")}
           or substring(a.payload from '"marketId":"([^"]+)"') in (select m.id from market m where ${holds("m.question")}))`
    }`;
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

/**
 * Entries by type and actor, which are indexed. However long the log is, a page reads about as many rows as it returns.
 */
export async function listAuditEntries(sql: ReadSql, query: AuditQuery): Promise<AuditEntry[]> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.audit.selected("a"))}
      from (${auditCandidates(sql, query)}) c
      join audit a on a.seq = c.seq
     order by a.seq ${query.oldestFirst ? sql`asc` : sql`desc`}
     limit ${query.limit}`;
  return rows.map(TABLES.audit.decode);
}

const TRADE: AuditType = "trade.executed";
const USER = "user:";

/**
 * Where to find the entries: trades in their own table, everything else in two partial indexes without users' trades.
 * The indexes' conditions are repeated, so that the planner knows that it may use them.
 */
export function auditCandidates(sql: ReadSql, { before, after, oldestFirst, type, actor, limit }: AuditQuery) {
  const within = (column: string) => sql`
    ${before === undefined ? sql`` : sql`and ${sql(column)} < ${String(before)}`}
    ${after === undefined ? sql`` : sql`and ${sql(column)} > ${String(after)}`}
    order by ${sql(column)} ${oldestFirst ? sql`asc` : sql`desc`}
    limit ${limit}`;
  if (type === TRADE && actor === undefined) return sql`select seq from trade where true ${within("seq")}`;
  const byType = type === undefined ? sql`` : sql`and type = ${type}`;
  const isRare = type === undefined || type === TRADE ? sql`` : sql`and type <> ${sql.unsafe(`'${TRADE}'`)}`;
  const byActor =
    actor === undefined
      ? sql``
      : sql`and actor = ${actor} and (actor not like ${sql.unsafe(`'${USER}%'`)} or type <> ${sql.unsafe(`'${TRADE}'`)})`;
  const others = sql`
    (select seq from audit where true ${byActor} ${byType} ${isRare} ${within("seq")})`;
  if (!actor?.startsWith(USER) || (type !== undefined && type !== TRADE)) return others;
  return sql`
    ${others}
    union all
    (select t.seq
       from trade t
      where t.trader_id = ${actor.slice(USER.length)}
        -- As a value, not a join: the planner takes an equal actor for rare, and would read all trades of the user.
        and (select a.actor = ${actor} from audit a where a.seq = t.seq)
        ${within("t.seq")})`;
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
  const { after, upTo, limit, type, actor } = query;
  const isWhole = type === undefined && actor === undefined;
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
                  from (${auditCandidates(sql, { ...query, oldestFirst: true })}) c
                  join audit a on a.seq = c.seq
                 where a.seq <= ${String(upTo)}
                 order by a.seq
                 limit ${limit}`
      }) as entry`;
  return {
    packed: row?.packed ?? "",
    last: row?.last ? BigInt(row.last) : undefined,
    areObjects: row?.are_objects ?? true,
  };
}
