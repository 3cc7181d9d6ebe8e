import type { AuditType } from "../domain/audit/audit-payloads.ts";
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

/** A part of the log. */
export interface AuditRange {
  /** Only entries before this one. */
  before?: bigint | undefined;
  /** Only entries after this one. */
  after?: bigint | undefined;
}

export interface AuditQuery extends AuditFilter, AuditRange {
  /** Newest first unless set. */
  oldestFirst?: boolean | undefined;
  limit: number;
  /** Where all trades of the market are. */
  traded?: AuditRange | undefined;
}

const TRADE: AuditType = "trade.executed";
const USER = "user:";

/**
 * Where to find the entries: trades in their own table, everything else in partial indexes without users' trades. The
 * indexes' conditions are repeated, so that the planner knows that it may use them.
 */
export function auditCandidates(sql: ReadSql, query: AuditQuery) {
  const { type, actor, marketId, userId } = query;
  const isNamed = marketId !== undefined || userId !== undefined;
  const others = isNamed ? naming(sql, query) : unnamed(sql, query);
  const isOfTrades = isNamed || actor?.startsWith(USER) || (type === TRADE && actor === undefined);
  if (!isOfTrades || (type !== undefined && type !== TRADE)) return others;
  if (type === TRADE && (isNamed || actor === undefined)) return trades(sql, query);
  return sql`${others} union all ${trades(sql, query)}`;
}

function within(sql: ReadSql, column: string, { before, after, oldestFirst, limit }: AuditQuery) {
  return sql`
    ${inside(sql, column, { before, after })}
    order by ${sql(column)} ${oldestFirst ? sql`asc` : sql`desc`}
    limit ${limit}`;
}

/** The condition that a column is inside a range. */
export function inside(sql: ReadSql, column: string, { before, after }: AuditRange) {
  return sql`
    ${before === undefined ? sql`` : sql`and ${sql(column)} < ${String(before)}`}
    ${after === undefined ? sql`` : sql`and ${sql(column)} > ${String(after)}`}`;
}

/** The trader whose trades alone can match; undefined for any. */
export const traderIn = ({ userId, actor }: AuditFilter): string | undefined =>
  userId ?? (actor?.startsWith(USER) ? actor.slice(USER.length) : undefined);

function trades(sql: ReadSql, query: AuditQuery) {
  const { actor, marketId, traded } = query;
  const traderId = traderIn(query);
  return sql`
    (select t.seq
       from trade t
      where true
        ${traderId === undefined ? sql`` : sql`and t.trader_id = ${traderId}`}
        ${marketId === undefined ? sql`` : sql`and t.market_id = ${marketId}`}
        -- As a value, not a join: the planner takes an equal actor for rare, and would read all trades of the user.
        ${actor === undefined ? sql`` : sql`and (select a.actor = ${actor} from audit a where a.seq = t.seq)`}
        ${traded === undefined ? sql`` : inside(sql, "t.seq", traded)}
        ${within(sql, "t.seq", query)})`;
}

function unnamed(sql: ReadSql, query: AuditQuery) {
  const { type, actor } = query;
  const isRare = type === undefined || type === TRADE ? sql`` : sql`and type <> ${sql.unsafe(`'${TRADE}'`)}`;
  const byActor =
    actor === undefined
      ? sql``
      : sql`and actor = ${actor} and (actor not like ${sql.unsafe(`'${USER}%'`)} or type <> ${sql.unsafe(`'${TRADE}'`)})`;
  return sql`
    (select seq from audit
      where true ${byActor} ${type === undefined ? sql`` : sql`and type = ${type}`} ${isRare} ${within(sql, "seq", query)})`;
}

/** By the market, else by the user; each type apart, as the indexes have them, so that a page reads a page of each. */
function naming(sql: ReadSql, query: AuditQuery) {
  const { type, actor, marketId, userId = "" } = query;
  const [name, id] = marketId === undefined ? ["userId", userId] : ["marketId", marketId];
  const rest = sql`
    ${actor === undefined ? sql`` : sql`and actor = ${actor}`}
    ${marketId === undefined || query.userId === undefined ? sql`` : states(sql, "userId", userId)}
    ${within(sql, "seq", query)}`;
  const answers = sql`
    union all
    (select seq from audit
      where type = 'proposal.executed' and audit_json(payload) #>> '{result,userId}' = ${userId} ${rest})`;
  return sql`
    select named.seq
      from (${type === undefined ? types(sql) : sql`select ${type}::text as type`}) kind
     cross join lateral (
       select seq from audit
        where type = kind.type and type <> ${sql.unsafe(`'${TRADE}'`)}
          and audit_json(payload) ->> ${sql.unsafe(`'${name}'`)} = ${id} ${rest}
     ) named
    ${marketId === undefined && (type === undefined || type === "proposal.executed") ? answers : sql``}`;
}

/** The types in the log without trades, also those that a newer version wrote: one probe of the index for each. */
function types(sql: ReadSql) {
  return sql`
    with recursive known (type) as (
      select min(type) from audit where type <> ${sql.unsafe(`'${TRADE}'`)}
       union all
      select (select min(type) from audit where type > known.type and type <> ${sql.unsafe(`'${TRADE}'`)})
        from known
       where known.type is not null
    )
    select type from known`;
}

/** Payloads are canonical JSON with escaped quotes, so a field's text cannot match inside another text. */
export function states(sql: ReadSql, field: string, value: string) {
  return sql`and strpos(payload, ${`${JSON.stringify(field)}:${JSON.stringify(value)}`}) > 0`;
}
