import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import postgres from "postgres";
import { Fault } from "../domain/fault.ts";
import { afterConflicts } from "./conflicts.ts";
import { APP_ROLE, confirmed, type Sql } from "./connect.ts";

const DIRECTORY = new URL("../../migrations/", import.meta.url);

/** Held until the end of the message that it begins: two processes that grant at once would fail on the same catalog row. */
const LOCK = "select pg_advisory_xact_lock(hashtext('pmctl migrate'))";

export interface Migration {
  version: number;
  name: string;
  text: string;
  checksum: string;
}

/** The migrations that this binary knows, in order. They are forward only and never edited once released. */
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

/** Numbers may have gaps: migrations are written on branches. */
function latestOf(migrations: Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

/** The schema's version; 0 before the first migration. */
export async function schemaVersion(sql: Sql): Promise<number> {
  const [row] = await sql<{ present: boolean }[]>`select to_regclass('migration') is not null as present`;
  if (!row?.present) return 0;
  const [latest] = await sql<{ version: number }[]>`select coalesce(max(version), 0)::int4 as version from migration`;
  return latest?.version ?? 0;
}

/**
 * @throws Fault when the schema is not the one that this binary was built for: newer schemas are never touched, older
 * ones are brought forward by `pmctl apply` or `pmctl db migrate`, not by a server that starts.
 */
export async function requireCurrentSchema(sql: Sql): Promise<void> {
  const known = latestOf(await readMigrations());
  const version = await schemaVersion(sql);
  if (version > known) throw newerSchema(version, known);
  if (version < known)
    throw new Fault(
      "REFUSED",
      `The database schema is at version ${version}, this pmctl needs ${known}: run pmctl apply`,
    );
}

/**
 * Brings the schema to the version of this binary. Returns the names applied.
 *
 * Each migration is one simple-protocol message, which PostgreSQL runs as one transaction: the driver's own transactions
 * are not used (see DECISIONS.md). Two processes that start at once meet at the lock; the second then finds the version
 * taken, its whole message fails on the primary key, and it reads again.
 * @throws Fault when the schema is newer, or an applied migration is not the one this binary knows.
 */
export async function migrate(sql: Sql, migrations?: Migration[]): Promise<string[]> {
  const known = migrations ?? (await readMigrations());
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
      // A schema that the standby lacks would be missing under whatever is acknowledged on it.
      await afterConflicts(() =>
        confirmed(
          sql,
          sql.unsafe(`${LOCK};
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
  await grantToServer(sql);
  return applied;
}

async function isApplied(sql: Sql, migration: Migration, known: number): Promise<boolean> {
  const version = await schemaVersion(sql);
  if (version > known) throw newerSchema(version, known);
  const [row] = await sql<{ checksum: string }[]>`
    select checksum from migration where version = ${migration.version}`;
  if (row && row.checksum !== migration.checksum)
    throw new Fault(
      "REFUSED",
      `Migration ${migration.name} was applied with another content: this database belongs to a different build of pmctl`,
    );
  return row !== undefined;
}

function newerSchema(version: number, known: number): Fault {
  return new Fault(
    "REFUSED",
    `The database schema is at version ${version}, newer than this pmctl (${known}): upgrade pmctl`,
  );
}

/** Tables that only grow. Whoever serves may read and add, never rewrite. */
const JOURNALS = ["audit", "transfer", "trade", "receipt", "market", "hedge", "assessment", "inbound_delivery"];
const MUTABLE = [
  "head",
  "tenant",
  "account",
  "book",
  "trader",
  "position",
  "market_hour",
  "api_key",
  "trader_day",
  "funding_day",
  "withdrawal",
  "payment",
  "oracle_watch",
  "oracle_sweep",
  "key_use",
];
const DISPOSABLE = [
  "stored_answer",
  "request_count",
  "webhook_receiver",
  "webhook_delivery",
  "oracle_tick",
  "ended_session",
  "security_event",
];

/**
 * Lets the running server's role add to the journals without being able to rewrite them. A database user that may not
 * create roles goes without: `serverRoleAvailable` then says so, and the server runs as that user itself.
 */
async function grantToServer(sql: Sql): Promise<void> {
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
  if (exists.length === 0) return;
  // The schema of an older backup, on its way to this one, does not have them all yet.
  const tables = await sql`select tablename from pg_tables where schemaname = current_schema()`;
  const there = new Set(tables.map(({ tablename }) => tablename as string));
  const grant = (rights: string, names: readonly string[]) => {
    const known = names.filter((name) => there.has(name));
    return known.length === 0 ? "" : `grant ${rights} on ${known.join(", ")} to ${APP_ROLE};`;
  };
  await sql.unsafe(`${LOCK};
    grant usage on schema public to ${APP_ROLE};
    ${grant("select, insert", JOURNALS)}
    ${grant("select, insert, update", MUTABLE)}
    ${grant("select, insert, update, delete", DISPOSABLE)}
    ${grant("select", ["migration"])}`);
}

/** Whether a server may take the restricted role on this connection. */
export async function serverRoleAvailable(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select 1 from pg_roles where rolname = ${APP_ROLE} and pg_has_role(current_user, oid, 'member')`;
  return rows.length > 0;
}
