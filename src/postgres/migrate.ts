import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { Fault } from "../domain/fault.ts";
import { COMMITS_TO_DISK } from "./commit-setting.ts";
import { afterConflicts } from "./conflicts.ts";
import { APP_ROLE, classify, confirmed, type Sql, StatementFailed } from "./connect.ts";
import { quoted } from "./embedded/connection.ts";
import { isUnfinished, SchemaMissing, unfinished } from "./empty-database.ts";
import { type NewerSchema, takesRowsOf } from "./newer-schema.ts";

const DIRECTORY = new URL("../../migrations/", import.meta.url);

/**
 * Held until the end of the message that it begins: two processes that grant at once would fail at the same catalog
 * row. Changes of the message are on disk before it is answered.
 */
const LOCK = `select pg_advisory_xact_lock(hashtext('pmctl migrate')), ${COMMITS_TO_DISK}`;

/** Less than PostgreSQL's `deadlock_timeout`: if a migration and a statement wait for each other, the migration gives way. */
const LOCK_TIMEOUT_MS = 250;
const LOCK_NOT_AVAILABLE = "55P03";
const GIVING_WAY_MS = 60_000;

/** The rights of the server's login on a table's rows; each right includes those before it. */
export type Right = "select" | "insert" | "update" | "delete";
const RIGHTS: Record<Right, string> = {
  select: "select",
  insert: "select, insert",
  update: "select, insert, update",
  delete: "select, insert, update, delete",
};

/** The tables of the schema, including `migration`, with the right to each. */
export type Grants = Readonly<Record<string, Right>>;

export interface Migration {
  version: number;
  name: string;
  text: string;
  checksum: string;
}

/** The migrations of this binary, in order. They only go forward and are never edited after a release. */
export async function readMigrations(directory: URL = DIRECTORY): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}_.*\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, directory), "utf8");
      const checksum = createHash("sha256").update(text).digest("hex");
      return { version: Number(name.slice(0, 4)), name, text, checksum };
    }),
  );
}

/** Numbers may have gaps, because migrations are written on branches. */
function latestOf(migrations: Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

/** The schema's version; 0 before the first migration. Uses the full name, so that an inaccessible schema does not look empty. */
export async function schemaVersion(sql: Sql): Promise<number> {
  const [row] = await sql<{ present: boolean }[]>`select to_regclass('public.migration') is not null as present`;
  if (!row?.present) return 0;
  const [latest] = await sql<{ version: number }[]>`select coalesce(max(version), 0)::int4 as version from migration`;
  return latest?.version ?? 0;
}

/**
 * @throws Fault if this binary was not built for the schema, or a restore into the database is unfinished. Newer
 * schemas are never changed. `pmctl apply` or `pmctl db migrate` updates older ones, not a starting server.
 * @param options.restoring for that restore itself
 * @param options.newer for a server, which may also begin on a newer schema that accepts its writes
 */
export async function requireCurrentSchema(
  sql: Sql,
  { restoring = false, newer }: { restoring?: boolean | undefined; newer?: NewerSchema | undefined } = {},
): Promise<void> {
  if (!restoring && (await isUnfinished(sql))) throw unfinished();
  const known = latestOf(await readMigrations());
  const version = await schemaVersion(sql);
  if (version === 0) throw new SchemaMissing();
  if (version < known) throw new SchemaBehind();
  if (version === known) return;
  if (!newer || !(await takesRowsOf(sql, newer.writes))) throw newerSchema(version, known);
  newer.onBegin(
    `The database schema is at version ${version}, newer than this pmctl (${known}): upgrade this server soon`,
  );
}

/** The schema has an older version, so it cannot be read yet. */
export class SchemaBehind extends Fault {
  constructor() {
    super(
      "REFUSED",
      "The database schema is from an older version of pmctl: `pmctl db migrate` updates it without changing the configuration, and so does `pmctl apply`",
    );
    this.name = "SchemaBehind";
  }
}

/** Whether the login may read every table; an interrupted apply or a manual change may have left it without a right. */
export async function mayRead(sql: Sql, grants: Grants): Promise<boolean> {
  const denied = await sql`
    select 1 from pg_class
     where relnamespace = 'public'::regnamespace and relname in ${sql(Object.keys(grants))}
       and not has_table_privilege(oid, 'select')`;
  return denied.length === 0;
}

/** Whether the schema is older, for a login that may not read its version: the catalog shows that tables are missing. */
export async function isBehind(sql: Sql, grants: Grants): Promise<boolean> {
  const tables = Object.keys(grants);
  const rows = await sql<{ relname: string }[]>`
    select relname from pg_class where relnamespace = 'public'::regnamespace and relname in ${sql(tables)}`;
  const there = rows.map(({ relname }) => relname);
  return there.includes("migration") && there.length < tables.length;
}

/**
 * Migrates the schema to this binary's version. Returns the names of the applied migrations.
 *
 * Each migration is one simple-protocol message, which PostgreSQL runs as one transaction; the driver's own
 * transactions continue after their connection has died. If two processes start at once, the second waits for the lock,
 * finds the version taken, fails as a whole at the primary key, and reads again.
 * @param options.grants the rights of the server's login, or of its role, on each table
 * @param options.server the serving login, which gets its rights, also on tables of later migrations
 * @throws Fault if the schema is newer, an applied migration is unknown to this binary, or the login does not exist
 */
export async function migrate(
  sql: Sql,
  { grants, migrations, server }: { grants: Grants; migrations?: Migration[]; server?: string | undefined },
): Promise<string[]> {
  const known = migrations ?? (await readMigrations());
  if (server !== undefined) await requireLogin(sql, server);
  await sql.unsafe(`${LOCK};
    create table if not exists migration (
      version    integer     primary key,
      name       text        not null,
      checksum   text        not null,
      applied_at timestamptz not null default now()
    )`);
  const applied: string[] = [];
  for (const migration of known) {
    if (await isApplied(sql, migration, latestOf(known))) continue;
    try {
      // Commits acknowledged on a schema that the standby lacks would be lost with it.
      await givingWay(() =>
        confirmed(
          sql,
          sql.unsafe(`${LOCK};
        select set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true);
        insert into migration (version, name, checksum)
        values (${migration.version}, '${migration.name}', '${migration.checksum}');
        ${migration.text}`),
        ),
      );
      applied.push(migration.name);
    } catch (error) {
      const taken = error instanceof postgres.PostgresError && error.constraint_name === "migration_pkey";
      if (!taken || !(await isApplied(sql, migration, latestOf(known)))) throw error;
    }
  }
  await grantToServer(sql, grants, server);
  return applied;
}

/**
 * Repeats a migration that met other statements at its tables. A waiting migration blocks every statement behind it, so
 * it waits briefly, lets the others pass, and tries again.
 * @throws Fault OVERLOADED if something else has locked a table for a minute
 */
async function givingWay<T>(apply: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    try {
      return await afterConflicts(apply);
    } catch (error) {
      const failure = classify(error);
      if (!(failure instanceof StatementFailed) || failure.sqlState !== LOCK_NOT_AVAILABLE) throw error;
      if (performance.now() - startedAt > GIVING_WAY_MS)
        throw new Fault(
          "OVERLOADED",
          "A long statement, such as a backup or a reconciliation, locks a table that the migration changes: nothing was applied; try again when that statement has ended",
          { cause: error },
        );
      await delay(Math.random() * LOCK_TIMEOUT_MS);
    }
  }
}

async function isApplied(sql: Sql, migration: Migration, known: number): Promise<boolean> {
  const version = await schemaVersion(sql);
  if (version > known) throw newerSchema(version, known);
  const [row] = await sql<{ checksum: string }[]>`
    select checksum from migration where version = ${migration.version}`;
  if (row && row.checksum !== migration.checksum)
    throw new Fault(
      "REFUSED",
      `Migration ${migration.name} was applied with different contents: this database belongs to a different build of pmctl`,
    );
  return row !== undefined;
}

function newerSchema(version: number, known: number): Fault {
  return new Fault(
    "REFUSED",
    `The database schema is at version ${version}, newer than this pmctl (${known}): upgrade pmctl`,
  );
}

/**
 * Lets the server's login add to the journals but not change them, and revokes its other rights on our tables. This is
 * one message, so a running server never lacks its rights.
 * @param server the server's login; undefined if it is the owner's, who then uses a role with the same rights
 */
async function grantToServer(sql: Sql, grants: Grants, server: string | undefined): Promise<void> {
  const role = server ?? (await restrictedRole(sql));
  if (role === undefined) return;
  // The schema of a backup from an earlier release may lack some of them.
  const tables = await sql`select tablename from pg_tables where schemaname = current_schema()`;
  const there = new Set(tables.map(({ tablename }) => tablename as string));
  const known = Object.entries(grants).filter(([table]) => there.has(table));
  await sql.unsafe(`${LOCK};
    grant usage on schema public to ${quoted(role)};
    revoke all on ${known.map(([table]) => table).join(", ")} from ${quoted(role)};
    ${known.map(([table, right]) => `grant ${RIGHTS[right]} on ${table} to ${quoted(role)};`).join("\n    ")}`);
  if (server !== undefined) await closeToOthers(sql, server);
}

/** Others can connect to a tenant's database, or create objects in it, only if the owner grants it to them by name. */
async function closeToOthers(sql: Sql, server: string): Promise<void> {
  await sql.unsafe(`${LOCK};
    do $$
    begin
      execute format('revoke connect, temporary on database %I from public', current_database());
      execute format('grant connect on database %I to %I', current_database(), '${server.replaceAll("'", "''")}');
      revoke create on schema public from public;
    exception
      -- The owner of the tables need not own the database, whose owner then decides who may connect.
      when insufficient_privilege then null;
    end $$`);
}

/**
 * The role of a server that connects as the owner. A database user that may not create roles works without it: then
 * `serverRoleAvailable` is false, and the server runs as that user.
 */
async function restrictedRole(sql: Sql): Promise<string | undefined> {
  await sql.unsafe(`${LOCK};
    do $$
    begin
      begin
        if not exists (select 1 from pg_roles where rolname = '${APP_ROLE}') then
          create role ${APP_ROLE} nologin;
        end if;
      exception
        -- Another tenant of the cluster created it at the same moment, or this user may not create roles.
        when duplicate_object or unique_violation or insufficient_privilege then null;
      end;
      grant ${APP_ROLE} to current_user;
    exception
      when undefined_object or unique_violation or insufficient_privilege then null;
    end $$`);
  const exists = await sql`select 1 from pg_roles where rolname = ${APP_ROLE}`;
  return exists.length === 0 ? undefined : APP_ROLE;
}

/**
 * Whether a server may use the restricted role on this connection: it can, and the role has its rights in this
 * database. If the server has its own login, the role has none, or those of an older schema.
 */
export async function serverRoleAvailable(sql: Sql, grants: Grants): Promise<boolean> {
  const rows = await sql`
    select 1
      from pg_roles r
     where r.rolname = ${APP_ROLE} and pg_has_role(current_user, r.oid, 'member')
       and not exists (
             select 1
               from pg_class c
              where c.relnamespace = current_schema()::regnamespace and c.relname in ${sql(Object.keys(grants))}
                and not has_table_privilege(r.oid, c.oid, 'select'))`;
  return rows.length > 0;
}

/** @throws Fault CONFIG_INVALID before anything is changed, if the server's login does not exist */
export async function requireLogin(sql: Sql, server: string): Promise<void> {
  if (await hasLogin(sql, server)) return;
  throw new Fault(
    "CONFIG_INVALID",
    `The login ${server}, which database.url names, does not exist: create it (create role ${quoted(server)} login password '…'), then apply again`,
  );
}

export async function hasLogin(sql: Sql, login: string): Promise<boolean> {
  return (await sql`select 1 from pg_roles where rolname = ${login}`).length > 0;
}
