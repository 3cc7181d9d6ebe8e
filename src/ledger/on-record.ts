import { type AuditEntry, GENESIS_HASH, payloadOf } from "../domain/audit/audit-link.ts";
import type { AuditType } from "../domain/audit/audit-payloads.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import type { ReadSql } from "../postgres/connect.ts";

/**
 * The chain runs from entry 1 to the head; an entry outside it is a leftover or forged, and counts for nothing. Without a
 * head row every entry whose seal holds counts for reads, and changes are refused.
 */
export const upToHead = (sql: ReadSql) =>
  sql`seq between 1 and coalesce((select seq from head where id = 1), 9223372036854775807)`;

/** Milliseconds since 1970 as entries write an instant. One beyond the calendar stays a number, which no entry equals. */
export const isoOf = (sql: ReadSql, column: string) =>
  sql.unsafe(`(case when ${column} between -62135596800000 and 253402300799999
    then to_char(timestamp '1970-01-01' + ${column}::float8 * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    else ${column}::text end)`);

/** A JSON object's members; none for any other value, which a broken entry may hold. */
export const membersOf = (sql: ReadSql, value: string) =>
  sql.unsafe(`jsonb_each(case when jsonb_typeof(${value}) = 'object' then ${value} else '{}' end)`);

/** The whole row `latest` of the log with the hash of the entry before it, as `saidBy` reads it. */
export const linkOf = (sql: ReadSql) => sql`
  json_build_object(
    'seq', latest.seq::text, 'type', latest.type, 'actor', latest.actor, 'payloadText', latest.payload,
    'ts', latest.ts, 'keyId', latest.key_id, 'hash', latest.hash,
    'previousHash', (select before.hash from audit before where before.seq = latest.seq - 1)
  )::text`;

/** The instant that a text names, in milliseconds; null for anything else, which a broken entry may hold. */
export function instantOf(text: unknown): number | null {
  const at = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

/** What an entry says whose seal holds. */
export interface Said {
  ts: string;
  payload: { [field: string]: unknown };
}

/**
 * What the entry of a `linkOf` says: undefined for no entry, "broken" for one that no audit key sealed as it stands.
 */
export function saidBy(link: unknown, isSealed: IsSealed): Said | "broken" | undefined {
  if (typeof link !== "string") return undefined;
  const { seq, previousHash, ...rest } = JSON.parse(link);
  const entry: AuditEntry = { ...rest, seq: BigInt(seq) };
  if (!isSealed(entry, entry.seq === 1n ? GENESIS_HASH : String(previousHash))) return "broken";
  return { ts: entry.ts, payload: payloadOf(entry) };
}

/**
 * `config_said`: the latest entry of each type that states the whole configuration. `said` is its payload, null where
 * that is no JSON; `link` is for checking its seal.
 */
export function configurationSaid(sql: ReadSql) {
  return sql`
    config_said as materialized (
      select latest.seq, latest.type, audit_json(latest.payload) as said, ${linkOf(sql)} as link
        from (values ('config.applied'), ('policy.updated')) as kind (type)
       cross join lateral (
         select *
           from audit
          where audit.type = kind.type and audit.type <> 'trade.executed' and ${upToHead(sql)}
          order by seq desc
          limit 1
       ) latest
    )`;
}

/**
 * `keys_said`: for each hash of a key that entries list, the last of these entries as a `link`. It starts from the
 * entries, so that it holds also keys whose rows were deleted.
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

/** The last entry of a type about the user with the id of a row `u`, as a `link`. */
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
