import { afterAll, beforeAll, expect, test } from "vitest";
import { forgetOldAnswers } from "../../../src/ledger/unchained/forget.ts";
import { connect, type Sql } from "../../../src/postgres/connect.ts";
import { poolOf } from "../../support/pool.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await createTestDatabase();
  sql = connect(database.server, { name: "forget test", max: 1 });
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await database.drop();
});

test("stored answers that have expired are deleted, however many, with the rights of the server's own role", async () => {
  await sql`
    insert into stored_answer (caller, key, request_hash, status, body, created_at, seal)
    select 'public:web:usr_1', age || ' h, ' || n, 'hash', 200, '{}',
           floor(extract(epoch from now()) * 1000)::bigint - age * 3600000::bigint, ''
      from unnest(array[0, 23, 24, 26, 1000]) age, generate_series(1, 6000) n`;
  await forgetOldAnswers(poolOf(sql));
  const rows =
    await sql`select split_part(key, ' ', 1)::int as age, count(*)::int from stored_answer group by 1 order by 1`;
  expect(rows.map((row) => [row.age, row.count])).toEqual([
    [0, 6000],
    [23, 6000],
    [24, 6000],
  ]);
});
