import { GRANTS, JOURNALS } from "../ledger/schema.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** The rights of a connection's login that a server should not have. */
export interface LoginRights {
  login: string;
  /** Phrases such as `may update and delete audit`, with the role that grants it if it is not the login itself. */
  excess: string[];
}

/** Predefined roles that reach the database's data, or its machine, without a grant. */
const POWERFUL = [
  "pg_write_all_data",
  "pg_execute_server_program",
  "pg_write_server_files",
  "pg_read_server_files",
  "pg_create_subscription",
];

/** Privileges to change the rows of a journal. `alter` belongs to the table's owner. */
const ACTS = "alter update delete truncate trigger";

/**
 * Checks all roles that a login can use: its own, those that it is a member of, and so on. A membership counts if it
 * inherits, allows `set role`, or lets its member change it; before PostgreSQL 16 every membership does.
 */
export async function readLoginRights(sql: ReadSql): Promise<LoginRights> {
  const reach = sql`
    with recursive reach as (
      select oid from pg_roles where rolname = session_user
      union
      select m.roleid
        from pg_auth_members m
        join reach on reach.oid = m.member
       where m.admin_option
          or coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, true)
          or coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
    ), role as (
      select r.*, d.datdba = r.oid as owns_database, n.nspowner = r.oid as owns_schema,
             case when r.rolname <> session_user then ' (as ' || r.rolname || ')' else '' end as by
        from reach
        join pg_roles r on r.oid = reach.oid
        join pg_database d on d.datname = current_database()
        join pg_namespace n on n.oid = current_schema()::regnamespace
    )`;
  const rows = await sql<{ excess: string }[]>`
    ${reach}
    select said || by as excess
      from role,
           lateral (values
             (1, rolsuper, 'is a superuser'),
             (2, rolcreaterole, 'may create roles'),
             (3, rolcreatedb, 'may create databases'),
             (4, rolreplication, 'may replicate the whole server'),
             (5, rolbypassrls, 'passes by row security'),
             (6, rolname in ${sql(POWERFUL)}, 'has the rights of a predefined role'),
             (7, owns_database, 'owns the database'),
             (8, owns_schema, 'owns the schema')
           ) as found (place, is_so, said)
     where is_so
     order by place, rolname`;
  const tables = await sql<{ excess: string }[]>`
    ${reach}
    select 'may ' || rights || ' ' || string_agg(relname, ', ' order by relname) || by as excess
      from (
             select relname, by,
                    string_agg(case act when 'trigger' then 'put triggers on' else act end, ', ' order by place) as rights
               from role
               join pg_class c on c.relnamespace = current_schema()::regnamespace and c.relname in ${sql(JOURNALS)}
              cross join unnest(string_to_array(${ACTS}, ' ')) with ordinality as asked (act, place)
              where not rolsuper
                and case act
                      when 'alter' then c.relowner = role.oid
                      when 'update' then has_any_column_privilege(role.oid, c.oid, act)
                      else has_table_privilege(role.oid, c.oid, act)
                    end
              group by relname, by
           ) as each
     group by rights, by
     order by by, rights`;
  const [self] = await sql<{ login: string }[]>`select session_user::text as login`;
  return { login: self?.login ?? "", excess: [...rows, ...tables].map(({ excess }) => excess) };
}

/** Whether a connection's login is the owner: it may create tables, and alter existing ones. */
export interface Ownership {
  login: string;
  database: string;
  isOwner: boolean;
  /** The owner of the tables or, before there are any, of the database. */
  owner: string;
}

export async function readOwnership(sql: ReadSql): Promise<Ownership> {
  const [row] = await sql<Ownership[]>`
    with place as (
      select n.oid, d.datname::text as database, d.datdba
        from pg_namespace n, pg_database d
       where n.nspname = 'public' and d.datname = current_database()
    ), ours as (
      select c.relowner from pg_class c join place on place.oid = c.relnamespace where c.relname in ${sql(Object.keys(GRANTS))}
    )
    select session_user::text as login, database,
           has_schema_privilege(session_user, place.oid, 'create')
           and not exists (select 1 from ours where not pg_has_role(session_user, relowner, 'usage')) as "isOwner",
           pg_get_userbyid(coalesce((select min(relowner) from ours), datdba))::text as owner
      from place`;
  return row ?? { login: "", database: "", isOwner: false, owner: "" };
}
