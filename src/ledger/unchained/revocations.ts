import { payloadOf } from "../../domain/audit/audit-link.ts";
import type { IsSealed } from "../../domain/audit/seal.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";
import { linkOf, saidBy, upToHead } from "../on-record.ts";

/** A user whose tokens are refused if they were issued before an instant. */
export interface RevokedUser {
  userId: string;
  /** Infinity if the entry's seal is broken: every token of the user is refused until a sealed entry follows. */
  before: number;
}

/** How far a server has followed the entries that end sessions. */
export interface RevocationsRead {
  /** The log's head at that time. Another hash at its number means another log, which is read from the beginning. */
  seq: string;
  hash: string;
}

export interface Revocations extends RevocationsRead {
  users: RevokedUser[];
  ended: EndedToken[];
}

/** A token that its user ended. */
export interface EndedToken {
  tokenSha256: string;
  /** When the token has expired, in milliseconds. */
  until: number;
}

export const NOTHING_READ: RevocationsRead = { seq: "0", hash: "" };

/**
 * The sessions ended since the last read, in one statement: entries that revoke a user's tokens or end one token.
 * @param longestMs the longest lifetime of a token: anything revoked earlier has expired anyway
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
                  where latest.type in ('session.ended', 'session.revoked') and latest.type <> 'trade.executed'
                    and latest.seq > place.after and ${upToHead(sql)}
                    and latest.ts > to_char(
                      timestamp '1970-01-01' + (place.now - ${longestMs}::bigint)::float8 * interval '1 millisecond',
                      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
               ) each
           ) as links
      from place`;
  const found = ((row?.links ?? []) as string[]).flatMap((link) => endedBy(link, isSealed));
  return {
    seq: String(row?.seq),
    hash: String(row?.hash),
    users: found.filter((each) => "before" in each),
    ended: found.filter((each) => "tokenSha256" in each),
  };
}

/** A broken entry still names its user, whose tokens are all refused until a sealed entry follows. */
function endedBy(link: string, isSealed: IsSealed): (RevokedUser | EndedToken)[] {
  const said = saidBy(link, isSealed);
  if (said === "broken") {
    const { userId } = payloadOf(JSON.parse(link));
    return [{ userId: String(userId), before: Number.POSITIVE_INFINITY }];
  }
  switch (said?.type) {
    case "session.ended":
      return [{ tokenSha256: said.payload.sha256, until: Date.parse(said.payload.until) }];
    case "session.revoked":
      return [{ userId: said.payload.userId, before: Date.parse(said.payload.revokeBefore) }];
    default:
      return [];
  }
}
