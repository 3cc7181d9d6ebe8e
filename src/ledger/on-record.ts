import { type AuditEntry, GENESIS_HASH, payloadOf } from "../domain/audit/audit-link.ts";
import type { AuditType } from "../domain/audit/audit-payloads.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { type LoggedEntry, loggedEntry } from "../replay/logged-rows.ts";

/**
 * The chain runs from entry 1 to the head. An entry outside it is left over or forged, and is ignored. Without a head
 * row, reads accept every entry with a valid seal, and changes are refused.
 */
export const upToHead = (sql: ReadSql) =>
  sql`seq between 1 and coalesce((select seq from head where id = 1), 9223372036854775807)`;

/** The whole log row `latest` with the hash of the previous entry, in the form that `saidBy` reads. */
export const linkOf = (sql: ReadSql) => sql`
  json_build_object(
    'seq', latest.seq::text, 'type', latest.type, 'actor', latest.actor, 'payloadText', latest.payload,
    'ts', latest.ts, 'keyId', latest.key_id, 'hash', latest.hash,
    'previousHash', (select before.hash from audit before where before.seq = latest.seq - 1)
  )::text`;

/** The content of an entry with a valid seal, and its actor. */
export type Said = LoggedEntry;

/** The content of a `linkOf` entry: undefined for no entry, "broken" if no audit key sealed it in this form. */
export function saidBy(link: unknown, isSealed: IsSealed): Said | "broken" | undefined {
  if (typeof link !== "string") return undefined;
  const { seq, previousHash, ...rest } = JSON.parse(link);
  const entry: AuditEntry = { ...rest, seq: BigInt(seq) };
  if (!isSealed(entry, entry.seq === 1n ? GENESIS_HASH : String(previousHash))) return "broken";
  const { type, ts, actor } = entry;
  return loggedEntry({ type, ts, actor, payload: payloadOf(entry) });
}

/** The latest entry of each of these types, oldest first, in the form that `saidBy` reads. */
export async function latestOf(
  sql: ReadSql,
  types: readonly AuditType[],
  isSealed: IsSealed,
): Promise<(Said | "broken")[]> {
  const rows = await sql`
    select ${linkOf(sql)} as link
      from unnest(${textArray(types)}::text[]) as kind (type)
     cross join lateral (
       select *
         from audit
        where audit.type = kind.type and audit.type <> 'trade.executed' and ${upToHead(sql)}
        order by seq desc
        limit 1
     ) latest
     order by latest.seq`;
  return rows.flatMap(({ link }) => saidBy(link, isSealed) ?? []);
}

/**
 * `keys_said`: for each key hash that entries list, the last of these entries as a `link`. It starts from the entries,
 * so it includes keys whose rows were deleted.
 */
export function keysSaid(sql: ReadSql) {
  return sql`
    keys_said as (
      select latest.listed as hash, ${linkOf(sql)} as link
        from (
          select distinct on (value.listed) value.listed, each.*
            from (
              select *, audit_json(payload) as entry
                from audit
               where type in ('key.created', 'key.revoked') and type <> 'trade.executed'
              -- Found by type and not by the head's number, and parsed once.
              offset 0
            ) each
           cross join lateral jsonb_object_keys(
             case when jsonb_typeof(each.entry -> 'keys') = 'object' then each.entry -> 'keys' else '{}' end
           ) value (listed)
           where ${upToHead(sql)}
           order by value.listed, each.seq desc
        ) latest
    )`;
}

/** The last entry of a type about the user whose id is in row `u`, as a `link`. */
export function userSaid(sql: ReadSql, type: AuditType, also = sql``) {
  return sql`
    select ${linkOf(sql)} as link
      from (
        select *
          from (
            select *
              from audit
             where type = ${sql.unsafe(`'${type}'`)}
               and audit_json(payload) ->> 'userId' = u.id
               ${also}
            offset 0
          ) each
         where ${upToHead(sql)}
         order by seq desc
         limit 1
      ) latest`;
}
