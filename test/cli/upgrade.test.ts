import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { GRANTS } from "../../src/ledger/schema.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { migrate, readMigrations } from "../../src/postgres/migrate.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

const SENTENCE = "The database schema is from an older version of pmctl: `pmctl db migrate` updates it";

let operator: Operator;
let present: TestDatabase;
let old: TestDatabase;
let sql: Sql;

/** Copies a tenant's rows into a database that has the first migration only. */
async function copyInto(to: Sql, from: Sql): Promise<void> {
  await to.unsafe("drop schema public cascade; create schema public");
  await migrate(to, { grants: GRANTS, migrations: (await readMigrations()).slice(0, 1) });
  const tables = await to`
    select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migration'`;
  for (const { name } of tables) {
    const [copy] = await from.unsafe(`select jsonb_agg(t)::text as rows from "${name}" t`);
    await to.unsafe(
      `truncate "${name}"; insert into "${name}" select * from jsonb_populate_recordset(null::"${name}", $rows$${copy?.rows ?? "[]"}$rows$::jsonb)`,
    );
  }
}

const run = (...args: string[]) => operator.run(...args, "-t", "acme", "--via", "db", "-o", "json");
const useDatabase = async (database: TestDatabase) => {
  const file = join(operator.directory, ".env");
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => !/^ACME_(DATABASE|OWNER)_URL=/.test(line));
  const urls = [`ACME_DATABASE_URL=${database.serverUrl}`, `ACME_OWNER_URL=${database.url}`];
  await writeFile(file, [...lines, ...urls, ""].join("\n"));
};

beforeAll(async () => {
  operator = await newOperator();
  [present, old] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  expect((await operator.run("init", "acme", "--yes")).exitCode).toBe(0);
  await operator.edit(
    "acme",
    (text) => `${text}\ndatabase: { url: { env: ACME_DATABASE_URL }, ownerUrl: { env: ACME_OWNER_URL } }\n`,
  );
  await useDatabase(present);
  expect(await run("apply", "--yes")).toMatchObject({ exitCode: 0 });
  expect(await run("policy", "set", "maxTradeUsd=50", "--yes")).toMatchObject({ exitCode: 0 });
  sql = connect(old.connection, { name: "test", max: 1 });
  const from = connect(present.connection, { name: "test", max: 1 });
  await copyInto(sql, from);
  await from.end();
  await useDatabase(old);
});
afterAll(async () => {
  await sql.end();
  await operator.close();
  await Promise.all([present.drop(), old.drop()]);
});

test.each([
  ["plan"],
  ["apply", "--dry-run"],
  ["drift"],
  ["history"],
  ["audit", "verify"],
  ["key", "list"],
  ["market", "list"],
])("on a schema of an older version %s %s says so, and what to do", async (...command) => {
  const { exitCode, stderr } = await run(...command);
  expect([exitCode, stderr]).toEqual([3, expect.stringContaining(SENTENCE)]);
});

test("the login that serves is told the same where it sees which tables there are", async () => {
  await sql`grant usage on schema public to public`;
  vi.stubEnv("ACME_OWNER_URL", "");
  for (const command of [["plan"], ["key", "list"]]) {
    const { exitCode, stderr } = await run(...command);
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining(SENTENCE)]);
  }
  vi.unstubAllEnvs();
});

test("an apply that is refused has only brought the schema forward, and says so; then a plan can be made", async () => {
  const { exitCode, stderr } = await run("apply", "--yes");
  expect([exitCode, stderr]).toEqual([3, expect.stringContaining("The database was brought up to date first")]);
  expect(stderr).toContain(
    "Servers of the older version are still running: restart them one after the other, and use what this version adds only after that",
  );
  expect(await sql`select 1 from audit where type = 'config.applied'`).toHaveLength(1);
  expect((await run("plan", "--on-drift", "adopt")).exitCode).toBe(0);
});
