import postgres from "postgres";
import { errorCode } from "../../state/state-directory.ts";
import { connectionTo, quoted } from "./connection.ts";
import { ClusterError } from "./errors.ts";
import type { Site } from "./home.ts";
import { ownerRole, serverLogin } from "./settings.ts";

/** The empty database that every cluster has. */
export const maintenanceDatabase = "postgres";

const connectTimeoutSeconds = 10;
const longestNameBytes = 63;
// duplicate_database, duplicate_object, and the unique violation of two simultaneous creations.
const alreadyThere = new Set(["42P04", "42710", "23505"]);
const serverIsDown = new Set(["ENOENT", "ECONNREFUSED"]);

/**
 * Creates the serving login of a database unless it exists. It has no rights until they are granted.
 * @param database undefined to read only the version
 * @returns the version of the running server, such as "18.4"
 */
export async function prepareCluster(site: Site, database: string | undefined): Promise<string> {
  const login = database === undefined ? undefined : serverLogin(database);
  return query(site, async (sql) => {
    const [row] = await sql<[{ version: string; isReady: boolean }]>`
      select current_setting('server_version') as version,
             ${login ?? null}::text is null
               or exists (select 1 from pg_roles where rolname = ${login ?? null}) as "isReady"`;
    // The owner becomes a member of it, to be able to end its sessions: a database can be copied or dropped only without sessions.
    if (!row.isReady && login !== undefined)
      await unlessThere(sql.unsafe(`create role ${quoted(login)} login role ${ownerRole}`));
    return row.version;
  });
}

/**
 * Creates a database of the owner role unless it exists.
 * @throws ClusterError if the server does not run, or PostgreSQL does not allow the name
 */
export async function createDatabase(site: Site, name: string): Promise<void> {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > longestNameBytes || name.includes("\0")) {
    // PostgreSQL would truncate a longer name, and two names could mean one database.
    throw new ClusterError(`"${name}" cannot name a database: 1 to ${longestNameBytes} bytes, without NUL.`);
  }
  await query(site, async (sql) => {
    const existing = await sql`select 1 from pg_database where datname = ${name}`;
    if (existing.length > 0) return;
    // template0, unlike template1, is never in use.
    await unlessThere(sql.unsafe(`create database ${quoted(name)} template template0`));
  });
}

/** A session's program, by its own name, and its database. */
export interface ConnectedClient {
  database: string;
  name: string;
}

/** The programs connected to the server, each once, without this session. */
export async function connectedClients(site: Site): Promise<ConnectedClient[]> {
  return query(
    site,
    (sql) => sql<ConnectedClient[]>`
      select distinct datname as database, coalesce(nullif(application_name, ''), 'a client without a name') as name
        from pg_stat_activity
       where datname is not null
         and pid <> pg_backend_pid()
         and (backend_type = 'client backend' or backend_type is null and usesysid is not null)
       order by database, name`,
  );
}

/** Ignores the error if another command created the same object earlier or at the same moment. */
async function unlessThere(creation: PromiseLike<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!(error instanceof postgres.PostgresError) || !alreadyThere.has(error.code)) throw error;
  }
}

/** Runs statements in the maintenance database on a separate connection, by default as the owner role. */
export async function query<T>(site: Site, work: (sql: postgres.Sql) => Promise<T>, role?: string): Promise<T> {
  const connection = connectionTo(site, maintenanceDatabase, role);
  // No statement here uses arrays, whose types the driver would otherwise query on each connection.
  const options = { ssl: false, max: 1, connect_timeout: connectTimeoutSeconds, fetch_types: false } as const;
  const sql = postgres({ ...connection, ...options });
  try {
    return await work(sql);
  } catch (error) {
    if (!serverIsDown.has(errorCode(error) ?? "")) throw error;
    throw new ClusterError("The embedded PostgreSQL is not running. Start it: pmctl db start", { cause: error });
  } finally {
    await sql.end({ timeout: 1 });
  }
}
