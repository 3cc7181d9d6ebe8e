import postgres from "postgres";
import { connectionTo } from "./connection.ts";
import { ClusterError, errorCode } from "./errors.ts";
import type { Site } from "./home.ts";
import { quoted } from "./identifier.ts";
import { ownerRole, serverLogin } from "./settings.ts";

/** The database that every cluster has, and that holds nothing. */
export const maintenanceDatabase = "postgres";

const connectTimeoutSeconds = 10;
const longestNameBytes = 63;
// duplicate_database, duplicate_object, and the unique violation that two creations in the same moment end in.
const alreadyThere = new Set(["42P04", "42710", "23505"]);
const nobodyListens = new Set(["ENOENT", "ECONNREFUSED"]);

/**
 * Makes sure that the login that serves a database exists. It can do nothing before it is granted what it needs.
 * @param database undefined for none
 * @returns the version of the server that runs, such as "18.4"
 */
export async function prepareCluster(site: Site, database: string | undefined): Promise<string> {
  const login = database === undefined ? undefined : serverLogin(database);
  return query(site, async (sql) => {
    const [row] = await sql<[{ version: string; isReady: boolean }]>`
      select current_setting('server_version') as version,
             ${login ?? null}::text is null
               or exists (select 1 from pg_roles where rolname = ${login ?? null}) as "isReady"`;
    // The owner becomes a member of it, so that it may end its sessions: a database is copied or dropped only without them.
    if (!row.isReady && login !== undefined)
      await unlessThere(sql.unsafe(`create role ${quoted(login)} login role ${ownerRole}`));
    return row.version;
  });
}

/** The version of the server that runs. */
export async function askVersion(site: Site): Promise<string> {
  return prepareCluster(site, undefined);
}

/** Runs statements one by one as another role than the owner. */
export async function runStatements(site: Site, role: string, statements: readonly string[]): Promise<void> {
  await query(
    site,
    async (sql) => {
      for (const statement of statements) await sql.unsafe(statement);
    },
    role,
  );
}

/**
 * Creates a database of the owner role unless it exists.
 * @throws ClusterError when the server does not run, or nothing can be called that.
 */
export async function createDatabase(site: Site, name: string): Promise<void> {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > longestNameBytes || name.includes("\0")) {
    // PostgreSQL would cut a longer name off, and two names could mean one database.
    throw new ClusterError(`"${name}" cannot name a database: 1 to ${longestNameBytes} bytes, without NUL.`);
  }
  await query(site, async (sql) => {
    const existing = await sql`select 1 from pg_database where datname = ${name}`;
    if (existing.length > 0) return;
    // template0, unlike template1, is never in use.
    await unlessThere(sql.unsafe(`create database ${quoted(name)} template template0`));
  });
}

/** Another command may be quicker, by a moment or by less. */
async function unlessThere(creation: PromiseLike<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!(error instanceof postgres.PostgresError) || !alreadyThere.has(error.code)) throw error;
  }
}

/** Runs statements in the maintenance database, on a connection of their own. */
async function query<T>(site: Site, work: (sql: postgres.Sql) => Promise<T>, role?: string): Promise<T> {
  const connection = connectionTo(site, maintenanceDatabase, role);
  const sql = postgres({ ...connection, ssl: false, max: 1, connect_timeout: connectTimeoutSeconds });
  try {
    return await work(sql);
  } catch (error) {
    if (!nobodyListens.has(errorCode(error) ?? "")) throw error;
    throw new ClusterError("The embedded PostgreSQL is not running. Start it: pmctl db start", { cause: error });
  } finally {
    await sql.end({ timeout: 1 });
  }
}
