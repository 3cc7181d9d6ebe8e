import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import postgres, { type Sql } from "postgres";
import { inject } from "vitest";
import { type ClusterConnection, connectionUrl } from "../../src/store/embedded/cluster.ts";

/** A migrated, empty database that nobody else uses. */
export interface TestDatabase {
  /** For the `postgres` package. */
  connection: ClusterConnection;
  /** For psql and the tenant file. */
  url: string;
  /** Removes it, and throws out whoever is still connected. */
  drop(): Promise<void>;
}

const retries = 100;
const pauseMs = 50;
const objectInUse = "55006";

/** Copies the template database of the run's shared server, whose migrations ran once in the global setup. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const template = inject("postgres");
  const database = `test_${randomBytes(6).toString("hex")}`;
  await administer((sql) => copyTemplate(sql, template.database, database));
  const connection = { ...template, database };
  return {
    connection,
    url: connectionUrl(connection),
    drop: () =>
      administer(async (sql) => {
        await sql`drop database if exists ${sql(database)} with (force)`;
      }),
  };
}

async function copyTemplate(sql: Sql, template: string, database: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await sql`create database ${sql(database)} template ${sql(template)}`;
      return;
    } catch (error) {
      // A copy fails while anybody is connected to the template.
      const mayPass = error instanceof postgres.PostgresError && error.code === objectInUse;
      if (!mayPass || attempt === retries) throw error;
    }
    await delay(pauseMs);
  }
}

/** A database can be created and dropped only from another one, outside a transaction. */
async function administer(work: (sql: Sql) => Promise<void>): Promise<void> {
  const sql = postgres({ ...inject("postgres"), database: "postgres", max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
