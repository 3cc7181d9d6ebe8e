import type { AuditEntry, ChainPoint } from "../domain/audit/audit-link.ts";
import type { AuditType } from "../domain/audit/audit-payloads.ts";
import type { SealedLines } from "../domain/audit/chain-walk.ts";
import { TABLES } from "../ledger/tables.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** Which entries are meant; all unless given. */
export interface AuditFilter {
  type?: string | undefined;
  actor?: string | undefined;
}

export interface AuditQuery extends AuditFilter {
  /** Only entries before this one, newest first. */
  before?: bigint | undefined;
  /** Only entries after this one, oldest first. */
  after?: bigint | undefined;
  limit: number;
}

/** Entries, newest first unless `after` is given. However long the log is, a page reads about as many rows as it holds. */
export async function listAuditEntries(sql: ReadSql, query: AuditQuery): Promise<AuditEntry[]> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.audit.selected("a"))}
      from (${auditCandidates(sql, query)}) c
      join audit a on a.seq = c.seq
     order by a.seq ${query.after === undefined ? sql`desc` : sql`asc`}
     limit ${query.limit}`;
  return rows.map(TABLES.audit.decode);
}

const TRADE: AuditType = "trade.executed";
const USER = "user:";

/**
 * Where the entries are found: trades by their own table, everything else by two partial indexes that users' trades do
 * not enter. Their conditions are repeated, or the planner could not know that the index holds what is asked for.
 */
export function auditCandidates(sql: ReadSql, { before, after, type, actor, limit }: AuditQuery) {
  const within = (column: string) => sql`
    ${before === undefined ? sql`` : sql`and ${sql(column)} < ${String(before)}`}
    ${after === undefined ? sql`` : sql`and ${sql(column)} > ${String(after)}`}
    order by ${sql(column)} ${after === undefined ? sql`desc` : sql`asc`}
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
 * Entries in order, from `from` on. The database joins the lines, and a page travels as one text: a row of seven
 * columns for each entry would cost more than the HMAC that it is read for. A separator smuggled into a field splits the
 * entry into pieces that do not verify.
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

/** The head row, which makes a cut tail visible, and the database's time in milliseconds. */
export async function readAuditHead(sql: ReadSql): Promise<ChainPoint & { readAt: number }> {
  const [row] = await sql<{ seq: string; hash: string; read_at: number }[]>`
    select seq, hash, (extract(epoch from clock_timestamp()) * 1000)::float8 as read_at from head where id = 1`;
  if (!row) throw new Error("The head row is missing");
  return { seq: BigInt(row.seq), hash: row.hash, readAt: Math.floor(row.read_at) };
}
