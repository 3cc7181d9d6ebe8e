import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import postgres, { type Sql } from "postgres";
import { type ClusterConnection, connectionUrl } from "../../src/postgres/embedded/connection.ts";
import { serverLogin } from "../../src/postgres/embedded/settings.ts";

/** Names the login that servers of all tests have: rights are copied with a template, and are a login's. */
export const TEST_TENANT = "test";
export const SERVER_LOGIN = serverLogin(TEST_TENANT);

/** A migrated, empty database that nobody else uses. */
export interface TestDatabase {
  /** As its owner, for the `postgres` package: what sets a scene and tampers. */
  connection: ClusterConnection;
  /** As the login that serves: what is tested runs as this one. */
  server: ClusterConnection;
  /** Both for psql and the tenant file. */
  url: string;
  serverUrl: string;
  /** Removes it, and throws out whoever is still connected. */
  drop(): Promise<void>;
}

const ATTEMPTS = 1200;
const PAUSE_MS = 50;
const DENIED = "42501";
/** A session is still connected, or a backend that was told to end has not yet. */
const IN_USE = "55006";

/** Copies a template database. */
export async function copyDatabase(template: ClusterConnection): Promise<TestDatabase> {
  const database = `test_${randomBytes(6).toString("hex")}`;
  await administer(template, async (sql) => {
    await again(() => sql`create database ${sql(database)} template ${sql(template.database)}`);
  });
  const connection = { ...template, database };
  const server = { ...connection, user: SERVER_LOGIN };
  return {
    connection,
    server,
    url: connectionUrl(connection),
    serverUrl: connectionUrl(server),
    drop: () => dropDatabase(template, database),
  };
}

/**
 * Removes a database of the same server and ends the sessions in it. The one place of the tests that does: `with (force)` is
 * refused to all but superusers while the server's own vacuum is in the database, whereas the plain statement ends the
 * vacuum and is refused while a client is connected.
 */
export function dropDatabase(connection: ClusterConnection, name: string): Promise<void> {
  return administer(connection, (sql) =>
    again(() =>
      sql`drop database if exists ${sql(name)} with (force)`.catch((error: unknown) => {
        if (!hasCode(error, DENIED)) throw error;
        return sql`drop database if exists ${sql(name)}`;
      }),
    ),
  );
}

/** Tries once more for as long as others are connected. */
async function again(work: () => PromiseLike<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (!hasCode(error, IN_USE) || attempt === ATTEMPTS) throw error;
    }
    await delay(PAUSE_MS);
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof postgres.PostgresError && error.code === code;
}

/** A database can be created and dropped only from another one, outside a transaction. */
async function administer(connection: ClusterConnection, work: (sql: Sql) => Promise<void>): Promise<void> {
  const sql = postgres({ ...connection, database: "postgres", max: 1, fetch_types: false, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
