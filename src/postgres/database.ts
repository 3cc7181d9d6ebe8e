import postgres from "postgres";
import { type DatabaseHost, formatDatabaseUrl, parseDatabaseUrl } from "../domain/access/database-address.ts";
import { Fault } from "../domain/fault.ts";
import { withinDeadline } from "./client.ts";
import { type Connection, connect, type Sql, withClient } from "./connect.ts";
import { quoted } from "./embedded/connection.ts";
import { requirePostgres } from "./engine.ts";
import type { Reader } from "./pool.ts";
import { routeTo } from "./route/route.ts";

const MISSING_DATABASE = "3D000";
const MISSING_TABLE = "42P01";
const DUPLICATE_DATABASE = "42P04";
const DENIED = "42501";
const NO_SUCH_LOGIN = "28000";
/** An odd number that no database has as its own setting. */
const PROBE_TIMEOUT_MS = 4321;

/**
 * Creates the connection's database if it does not exist, through the `postgres` database that every server has.
 * @throws Fault DATABASE_UNAVAILABLE if the server is unreachable or does not let this user create it,
 * ENGINE_UNSUPPORTED if it is not PostgreSQL 15 or newer
 */
export async function ensureDatabase(connection: Connection): Promise<void> {
  await withClient(connection, { name: "provision", max: 1 }, async (sql) => {
    try {
      await requirePostgres(sql);
    } catch (error) {
      if (!isMissingDatabase(error)) throw unusable(error);
      await createDatabase(connection, sql.options.database);
    }
  });
}

/** Whether the server answered that the database does not exist. A pooler says so in its message, with its own code. */
export function isMissingDatabase(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  return error.code === MISSING_DATABASE || /^database ".*" does not exist$/.test(error.message);
}

/** Whether the database lacks a table, as before its first apply or before a migration. */
export function isMissingTable(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === MISSING_TABLE;
}

/** Whether the login lacks a right to the database or a table, as before the apply that grants it. */
export function isDenied(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === DENIED;
}

export function isMissingLogin(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === NO_SUCH_LOGIN;
}

async function createDatabase(connection: Connection, name: string): Promise<void> {
  try {
    await administer(connection, async (sql) => {
      await requirePostgres(sql);
      await sql.unsafe(`create database ${quoted(name)}`);
    });
  } catch (error) {
    // Another command created it at the same moment.
    if (!(error instanceof postgres.PostgresError) || error.code !== DUPLICATE_DATABASE) throw unusable(error);
  }
}

/** Runs work in the `postgres` database: a database can be created, renamed and dropped only from another one. */
export async function administer<Value>(
  connection: Connection,
  work: (sql: Sql) => PromiseLike<Value>,
): Promise<Value> {
  return withClient(atDatabase(connection, "postgres"), { name: "provision", max: 1 }, work);
}

/** The same server and user, another database. */
export function atDatabase(connection: Connection, database: string): Connection {
  if (!("url" in connection)) return { ...connection, database };
  return { ...connection, url: formatDatabaseUrl({ ...parseDatabaseUrl(connection.url), name: database }) };
}

/**
 * How to reach an external database, with or without a pooler.
 * @throws Fault ENGINE_UNSUPPORTED if it is not PostgreSQL 15 or newer
 */
export async function externalConnection(url: string): Promise<Connection> {
  await refuseOtherEngines(url);
  return { url, pooled: await isPooled(url) };
}

/** Connects without settings, as through a pooler: another engine may not know them, and the error should name the engine. */
async function refuseOtherEngines(url: string): Promise<void> {
  await withClient({ url, pooled: true }, { name: "probe", max: 1 }, requirePostgres).catch((error: unknown) => {
    // Any other failure is reported by the next use of the database.
    if (error instanceof Fault) throw error;
  });
}

/**
 * Whether a transaction pooler, such as PgBouncer, is in front of the database: it refuses or drops a session's initial
 * settings.
 */
async function isPooled(url: string): Promise<boolean> {
  const options = { name: "probe", max: 1, statementTimeoutMs: PROBE_TIMEOUT_MS };
  try {
    const [row] = await withClient({ url }, options, (sql) =>
      sql<{ statement_timeout: string }[]>`show statement_timeout`.simple(),
    );
    return row?.statement_timeout !== `${PROBE_TIMEOUT_MS}ms`;
  } catch (error) {
    // Any other failure is reported by the next use of the database.
    return error instanceof postgres.PostgresError && error.message.startsWith("unsupported startup parameter");
  }
}

/** The name of the connection's database. */
export function databaseOf(connection: Connection): string {
  return "url" in connection ? parseDatabaseUrl(connection.url).name : connection.database;
}

/** A value that is equal for all connections to the same database server or group of servers. */
export function serverOf(connection: Connection): string {
  const hosts = "url" in connection ? parseDatabaseUrl(connection.url).hosts : [connection];
  return hosts.map(({ host, port }) => `${host}:${port}`).join(",");
}

/** The name of the connection's login. */
export function loginOf(connection: Connection): string {
  // Opens nothing: this is the driver's own reading of a URL with its defaults.
  return connect(connection, { name: "probe", max: 1 }).options.user;
}

/**
 * `host:port` of the server that answered, in the connection's notation.
 * @param answered the server's own address; null over a socket
 */
export function placeOf(connection: Connection, answered: { host: string; port: number } | null): string {
  const { host, port } = "url" in connection ? hostOf(connection.url, answered) : connection;
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function hostOf(url: string, answered: DatabaseHost | null): DatabaseHost {
  const { host, address } = routeTo(url);
  const [first = { host: "", port: 5432 }, ...others] = address.hosts;
  return host ?? (others.length === 0 ? first : (answered ?? first));
}

/** The server's own message helps an operator; it names the database and the user, never the password. */
export function unusable(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault("DATABASE_UNAVAILABLE", `The tenant's database cannot be used: ${(error as Error).message}`, {
    cause: error,
  });
}

/** Whether the database answers in time, regardless of its state. */
export async function answersWithin(reader: Reader, timeoutMs: number): Promise<boolean> {
  return withinDeadline(
    reader.read((sql) => sql`select 1`),
    timeoutMs,
  ).then(
    () => true,
    () => false,
  );
}
