import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TABLES } from "../../src/ledger/tables.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

/** Written without a command: `src/ledger/unchained`. */
const APART: Readonly<Record<string, string>> = { console_session: "last_seen_at" };

describe("the codec of a table", () => {
  let database: TestDatabase;
  let sql: Sql;
  beforeAll(async () => {
    database = await createTestDatabase();
    sql = connect(database.connection, { name: "tables", max: 1 });
  });
  afterAll(async () => {
    await sql.end({ timeout: 5 });
    await database.drop();
  });

  test.each(Object.values(TABLES))("names every column of $name, its type and its primary key", async (codec) => {
    const columns = await sql<{ name: string; type: string }[]>`
      select column_name as name, data_type as type from information_schema.columns
       where table_name = ${codec.name} and is_generated = 'NEVER' and column_name <> ${APART[codec.name] ?? ""}`;
    const sent = codec.columns.map(({ name, type }) => ({ name, type: type === "line" ? "text" : type }));
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    expect(sent.sort(byName)).toEqual([...columns].sort(byName));
    const key = await sql<{ name: string }[]>`
      select column_name as name
        from information_schema.key_column_usage
       where table_name = ${codec.name} and constraint_name = ${`${codec.name}_pkey`}
       order by ordinal_position`;
    expect(codec.key).toEqual(key.map(({ name }) => name));
  });
});
