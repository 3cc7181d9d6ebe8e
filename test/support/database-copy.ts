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
/** Somebody is connected; or it is the server's own vacuum, which only a superuser may throw out, and which goes by itself. */
const PASSING = ["55006", "42501"];

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
    drop: () =>
      administer(template, async (sql) => {
        await again(() => sql`drop database if exists ${sql(database)} with (force)`);
      }),
  };
}

/** Tries once more for as long as what is in the way passes. */
async function again(work: () => PromiseLike<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      const mayPass = error instanceof postgres.PostgresError && PASSING.includes(error.code);
      if (!mayPass || attempt === ATTEMPTS) throw error;
    }
    await delay(PAUSE_MS);
  }
}

/** A database can be created and dropped only from another one, outside a transaction. */
async function administer(template: ClusterConnection, work: (sql: Sql) => Promise<void>): Promise<void> {
  const sql = postgres({ ...template, database: "postgres", max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
