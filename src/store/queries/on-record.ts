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

/** The last entry that lists a key's value, and so says all of it, as a lateral `said` of a row `k`. */
export function keySaid(sql: ReadSql) {
  return sql`
    left join lateral (
      select audit_json(payload) as entry
        from (
          select seq, payload
            from audit
           where type in ('key.created', 'key.revoked')
             and (audit_json(payload) -> 'keys') ? k.hash
          -- Keeps the planner from walking the log itself, back from the head, for the first match.
          offset 0
        ) each
       where ${upToHead(sql)}
       order by seq desc
       limit 1
    ) said on true`;
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
