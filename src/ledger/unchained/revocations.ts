import type { IsSealed } from "../../domain/audit/seal.ts";
import type { Revocation } from "../../engine/rows.ts";
import { textArray } from "../../postgres/arrays.ts";
import { commitsToDisk } from "../../postgres/commit-setting.ts";
import type { ReadSql, Sql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";
import { instantOf, linkOf, saidBy, upToHead, userSaid } from "../on-record.ts";

/** A user whose tokens are refused when they were issued before an instant. */
export interface RevokedUser {
  userId: string;
  /** Infinity where the entry's seal is broken: every token of the user is refused until a sealed entry follows. */
  before: number;
}

/** How far a server has followed what ends sessions. */
export interface RevocationsRead {
  /** The log's head at the time. Another hash at its number is another log, which is read from the beginning. */
  seq: string;
  hash: string;
  /** By the database's clock, milliseconds. */
  at: number;
}

export interface Revocations extends RevocationsRead {
  users: RevokedUser[];
  /** Ended tokens with their expiry, milliseconds: [SHA-256 in hex, expiry]. */
  ended: [hash: string, expiresAt: number][];
}

export const NOTHING_READ: RevocationsRead = { seq: "0", hash: "", at: 0 };

/**
 * A statement that began before the last read may have committed after it. The overlap is longer than any statement may
 * take, so none is missed; reading an end twice changes nothing.
 */
const OVERLAP_MS = 20_000;

/**
 * What ended sessions since the last read, in one statement: entries that revoke users' tokens, and ended tokens.
 * @param longestMs how long a token may live at the most: what was revoked longer ago has expired anyway
 */
export async function readRevocations(
  sql: ReadSql,
  since: RevocationsRead,
  { longestMs, isSealed }: { longestMs: number; isSealed: IsSealed },
): Promise<Revocations> {
  const [row] = await sql`
    with place as materialized (
      select coalesce(h.seq, 0) as seq, coalesce(h.hash, '') as hash,
             case when exists (select 1 from audit where seq = ${since.seq}::bigint and hash = ${since.hash})
                  then ${since.seq}::bigint else 0 end as after,
             ${nowMs(sql)} as now
        from (select 1) one
        left join head h on h.id = 1
    )
    select place.seq, place.hash, place.now,
           (
             select json_agg(each.link order by each.seq)
               from (
                 select latest.seq, ${linkOf(sql)} as link
                   from audit latest
                  where latest.type = 'session.revoked' and latest.type <> 'trade.executed'
                    and latest.seq > place.after and ${upToHead(sql)}
                    and latest.ts > to_char(
                      timestamp '1970-01-01' + (place.now - ${longestMs}::bigint)::float8 * interval '1 millisecond',
                      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
               ) each
           ) as links,
           (
             select json_agg(json_build_array(token_hash, expires_at))
               from ended_session
              where ended_at > ${since.at}::bigint - ${OVERLAP_MS}::int4 and expires_at > place.now
           ) as ended
      from place`;
  return {
    seq: String(row?.seq),
    hash: String(row?.hash),
    at: Number(row?.now),
    users: ((row?.links ?? []) as string[]).flatMap((link) => revokedBy(link, isSealed) ?? []),
    ended: (row?.ended ?? []) as [string, number][],
  };
}

/** A broken entry still names its user, whose tokens are all refused until a sealed entry follows. */
function revokedBy(link: string, isSealed: IsSealed): RevokedUser | undefined {
  const said = saidBy(link, isSealed);
  if (said === undefined) return undefined;
  const always = Number.POSITIVE_INFINITY;
  if (said !== "broken")
    return { userId: String(said.payload.userId), before: instantOf(said.payload.revokeBefore) ?? always };
  try {
    return { userId: String(JSON.parse(JSON.parse(link).payloadText).userId), before: always };
  } catch {
    return undefined;
  }
}

/** What the last entry about each user's sessions says. A broken one says nothing, so that a new one replaces it. */
export async function loadRevocations(
  sql: ReadSql,
  userIds: string[],
  isSealed: IsSealed,
): Promise<Map<string, Revocation>> {
  const rows = await sql`
    select u.id, said.link
      from unnest(${textArray(userIds)}::text[]) as u (id)
     cross join lateral (${userSaid(sql, "session.revoked")}) said`;
  return new Map(
    rows.map(({ id, link }) => {
      const said = saidBy(link, isSealed);
      return [id as string, { before: said === "broken" ? null : instantOf(said?.payload.revokeBefore) }];
    }),
  );
}

/** Ends one token for all servers of the tenant; twice does no harm. */
export async function endSession(sql: Sql, tokenHash: string, expiresAt: number): Promise<boolean> {
  const { count } = await sql`
    insert into ended_session (token_hash, expires_at, ended_at)
    select ${tokenHash}, ${expiresAt}::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint
     where ${commitsToDisk(sql)}
        on conflict (token_hash) do nothing`;
  return count > 0;
}
