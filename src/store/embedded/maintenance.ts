import postgres from "postgres";
import { connectionTo } from "./connection.ts";
import { ClusterError, errorCode } from "./errors.ts";
import type { Site } from "./home.ts";

/** The database that every cluster has, and no tenant. */
export const maintenanceDatabase = "postgres";

const connectTimeoutSeconds = 10;
const longestNameBytes = 63;
// duplicate_database, and the unique violation that two creations in the same moment end in.
const alreadyThere = new Set(["42P04", "23505"]);
const nobodyListens = new Set(["ENOENT", "ECONNREFUSED"]);

/** The version of the server that runs, such as "18.4". */
export async function askVersion(site: Site): Promise<string> {
  return query(site, async (sql) => {
    const [row] = await sql<[{ version: string }]>`select current_setting('server_version') as version`;
    return row.version;
  });
}

/**
 * Creates a database of the owner role unless it exists.
 * @throws ClusterError when the server does not run, or nothing can be called that.
 */
export async function createDatabase(site: Site, name: string): Promise<void> {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > longestNameBytes || name.includes("\0")) {
    // PostgreSQL would cut a longer name off, and two tenants could share a database.
    throw new ClusterError(`"${name}" cannot name a database: 1 to ${longestNameBytes} bytes, without NUL.`);
  }
  await query(site, async (sql) => {
    const existing = await sql`select 1 from pg_database where datname = ${name}`;
    if (existing.length > 0) return;
    try {
      // Quoted here because the package's own identifiers split at dots. template0, unlike template1, is never in use.
      await sql.unsafe(`create database "${name.replaceAll('"', '""')}" template template0`);
    } catch (error) {
      // Somebody else was quicker, by a moment or by less.
      if (!(error instanceof postgres.PostgresError) || !alreadyThere.has(error.code)) throw error;
    }
  });
}

/** Runs statements in the maintenance database, on a connection of their own. */
async function query<T>(site: Site, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const connection = connectionTo(site, maintenanceDatabase);
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
