import type { ReadSql } from "../connect.ts";

/**
 * Entries beyond the head count for nothing: they are left over, or forged. Where the head row itself is missing, reads
 * go on by what there is, and the verification of the chain says so.
 */
export const upToHead = (sql: ReadSql) =>
  sql`seq <= coalesce((select seq from head where id = 1), 9223372036854775807)`;

/**
 * `config_said`: the latest entry of each type that states the configuration whole; `said` is null where one is broken.
 * `legacy`: whether older versions' entries are all there is, until the apply that migrates states what they left.
 */
export function configurationSaid(sql: ReadSql) {
  return sql`
    config_said as materialized (
      select latest.seq, latest.type, audit_json(latest.payload) as said
        from (values ('config.applied'), ('policy.updated'), ('state.recorded')) as kind (type)
       cross join lateral (
         select seq, type, payload
           from audit
          where audit.type = kind.type and audit.type <> 'trade.executed' and ${upToHead(sql)}
          order by seq desc
          limit 1
       ) latest
    ),
    legacy as materialized (
      select coalesce(
               (select not said ? 'state' from config_said where type <> 'policy.updated' order by seq desc limit 1),
               false) as legacy
    )`;
}

/**
 * `keys_said`: for each value that entries list, the last one of them, which says all of it. Found from the entries and
 * not from the table, so that it holds what was deleted there.
 */
export function keysSaid(sql: ReadSql) {
  return sql`
    keys_said as (
      select distinct on (value.hash) value.hash, each.entry
        from (
          select seq, audit_json(payload) as entry
            from audit
           where type in ('key.created', 'key.revoked') and type <> 'trade.executed'
          -- Found by type and not by the head's number, and parsed once.
          offset 0
        ) each
       cross join lateral jsonb_object_keys(
         case when jsonb_typeof(each.entry -> 'keys') = 'object' then each.entry -> 'keys' else '{}' end
       ) value (hash)
       where ${upToHead(sql)}
       order by value.hash, each.seq desc
    )`;
}

/** The last entry of a type about a user, as JSON, of a row `u` with an `id`. */
export function userSaid(
  sql: ReadSql,
  type: "kyc.updated" | "user.restricted" | "suitability.submitted",
  also = sql``,
) {
  return sql`
    select audit_json(payload) as entry, ts
      from (
        select seq, payload, ts
          from audit
         where type = ${sql.unsafe(`'${type}'`)}
           and audit_json(payload) ->> 'userId' = u.id
           ${also}
        offset 0
      ) each
     where ${upToHead(sql)}
     order by seq desc
     limit 1`;
}
