import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { GRANTS, WRITTEN_COLUMNS } from "../../src/ledger/schema.ts";
import { APP_ROLE, connect, type Sql } from "../../src/postgres/connect.ts";
import {
  type Migration,
  migrate,
  readMigrations,
  requireCurrentSchema,
  schemaVersion,
  serverRoleAvailable,
} from "../../src/postgres/migrate.ts";
import { SERVER_LOGIN } from "../support/database-copy.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

let database: TestDatabase;
let sql: Sql;

async function open(): Promise<void> {
  database = await createTestDatabase();
  sql = connect(database.connection, { name: "test", max: 1 });
}

async function close(): Promise<void> {
  await sql.end({ timeout: 5 });
  await database.drop();
}

/** The test databases come migrated; this one begins at nothing. */
async function empty(): Promise<void> {
  await sql.unsafe("drop schema public cascade; create schema public");
}

const refused = (message: string) =>
  expect.objectContaining({ code: "REFUSED", message: expect.stringContaining(message) });

function migration(version: number, text: string): Migration {
  return { version, name: `000${version}_test.sql`, text, checksum: `sum of ${text}` };
}

describe("migrate", () => {
  beforeEach(open);
  afterEach(close);

  test("brings an empty database to the version of this binary, and the second time finds nothing to do", async () => {
    await empty();
    const known = await readMigrations();
    expect(await schemaVersion(sql)).toBe(0);
    expect(await migrate(sql, { grants: GRANTS })).toEqual(known.map(({ name }) => name));
    expect(await schemaVersion(sql)).toBe(known.length);
    expect(await sql`select name, checksum from migration order by version`).toEqual(
      known.map(({ name, checksum }) => ({ name, checksum })),
    );
    expect(await migrate(sql, { grants: GRANTS })).toEqual([]);
    await expect(requireCurrentSchema(sql)).resolves.toBeUndefined();
  });

  test("migrations are numbered without gaps, each with the checksum of its text", async () => {
    const known = await readMigrations();
    expect(known.map(({ version }) => version)).toEqual(known.map((_, index) => index + 1));
    expect(new Set(known.map(({ checksum }) => checksum)).size).toBe(known.length);
  });

  test("a migration after the first two only adds: servers of the release before go on over it", async () => {
    const narrows =
      /\b(drop (table|column|constraint|function|default)|rename|set not null|alter column \w+ (set data )?type|add column (?![^,;]*\bdefault\b)[^,;]*\bnot null)\b/i;
    expect(narrows.test("alter table a add column b bigint not null")).toBe(true);
    for (const { name, text } of (await readMigrations()).filter(({ version }) => version > 2))
      expect(text.replaceAll(/--.*$/gm, ""), name).not.toMatch(narrows);
  });

  test("five processes that start at once apply each migration once, and none of them fails", async () => {
    const clients = Array.from({ length: 5 }, (_, index) =>
      connect(database.connection, { name: `m${index}`, max: 1 }),
    );
    try {
      await Promise.all(clients.map((client) => client`select 1`));
      for (let round = 0; round < 4; round++) {
        await empty();
        const applied = await Promise.all(clients.map((client) => migrate(client, { grants: GRANTS })));
        expect(applied.flat().sort()).toEqual((await readMigrations()).map(({ name }) => name));
      }
    } finally {
      await Promise.all(clients.map((client) => client.end({ timeout: 5 })));
    }
  });

  test("a migration that fails leaves nothing of itself, and can be applied when it is right", async () => {
    await empty();
    const first = migration(1, "create table a (id int)");
    const wrong = migration(2, "create table b (id int); insert into nowhere values (1)");
    await expect(migrate(sql, { grants: GRANTS, migrations: [first, wrong] })).rejects.toThrow("nowhere");
    expect(await schemaVersion(sql)).toBe(1);
    expect(await sql`select to_regclass('b') as b`).toEqual([{ b: null }]);
  });

  test("a migration gives way to transactions that hold its tables: none fails, none waits for long, and it is applied in the end", async () => {
    await sql.unsafe("create table a (id int); create table b (id int)");
    const [reader, other] = ["reader", "other"].map((name) => connect(database.connection, { name, max: 1 }));
    if (!reader || !other) throw new Error("Two connections are opened");
    const planted = migration(999, "alter table b add column x int; alter table a add column x int");
    const known = [...(await readMigrations()), planted];
    await reader.unsafe("begin; select 1 from a");
    const applied = migrate(sql, { grants: GRANTS, migrations: known });
    const waits = () => other`select 1 from pg_locks where not granted and relation = 'a'::regclass`;
    while ((await waits()).length === 0);
    // The migration has the one table and waits for the other, whose holder asks for the first: each would wait for ever.
    expect(await reader`select x.id from b x`).toEqual([]);
    expect(await other`select id from a`).toEqual([]);
    await reader.unsafe("commit");
    expect(await applied).toEqual([planted.name]);
    await Promise.all([reader.end(), other.end()]);
  });

  test("every table is granted to the server's login, and what a migration adds without a grant is found here", async () => {
    const ungranted = await sql`
      select relname from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
         and not has_table_privilege(${SERVER_LOGIN}, oid, 'select')`;
    expect(ungranted).toEqual([]);
  });

  test("a newer schema is refused and left alone", async () => {
    await sql`insert into migration (version, name, checksum) values (999, '0999_future.sql', 'x')`;
    await expect(migrate(sql, { grants: GRANTS })).rejects.toEqual(refused("newer than this pmctl"));
    await expect(requireCurrentSchema(sql)).rejects.toEqual(refused("upgrade pmctl"));
  });

  test("a server begins on a newer schema that takes what it writes, and on no other", async () => {
    const notices: string[] = [];
    const newer = { writes: WRITTEN_COLUMNS, onBegin: (notice: string) => notices.push(notice) };
    await requireCurrentSchema(sql, { newer });
    expect(notices).toEqual([]);
    await sql`insert into migration (version, name, checksum) values (999, '0999_future.sql', 'x')`;
    await sql`alter table book add column planted bigint not null default 0, add column beside bigint`;
    await requireCurrentSchema(sql, { newer });
    expect(notices).toEqual([expect.stringContaining("at version 999, newer than this pmctl")]);
    // As a migration does where servers of the release before would leave sums behind.
    await sql`alter table book alter column planted drop default`;
    await expect(requireCurrentSchema(sql, { newer })).rejects.toEqual(refused("upgrade pmctl"));
    await sql`alter table book drop column planted, drop column volume_micro`;
    await expect(requireCurrentSchema(sql, { newer })).rejects.toEqual(refused("upgrade pmctl"));
    expect(notices).toHaveLength(1);
  });

  test("a migration that was applied with another content is refused", async () => {
    const [first, ...rest] = await readMigrations();
    if (!first) throw new Error("There are no migrations");
    const changed = { ...first, text: `${first.text}\n`, checksum: "another" };
    await expect(migrate(sql, { grants: GRANTS, migrations: [changed, ...rest] })).rejects.toEqual(
      refused("applied with different contents"),
    );
  });

  test.each([
    [0, "run pmctl apply"],
    [1, "pmctl db migrate"],
  ])("a server does not start on a schema at version %d", async (version, remedy) => {
    if (version === 0) await empty();
    else await sql`delete from migration where version > ${version}`;
    await expect(requireCurrentSchema(sql)).rejects.toEqual(refused(remedy));
  });
});

describe.each([
  ["the login of the running server", false],
  ["the role of a server that connects as the owner", true],
])("%s", (_name, restricted) => {
  const JOURNALS = ["audit", "transfer", "trade"];
  let server: Sql;

  // One database for all of them: what is refused leaves it as it was.
  beforeAll(async () => {
    await open();
    await sql`insert into audit (seq, type, actor, payload, ts, key_id, hash) values (1, 't', 'a', '{}', 'ts', 'k', 'h')`;
    await sql`insert into transfer (seq, leg, debit, credit, amount_micro) values (1, 0, 'a', 'b', 1)`;
    await sql`
      insert into trade (seq, id, market_id, trader_id, side, amount_micro, fee_micro, shares_micro, yes_price_ppm, ts)
      values (1, 'trd', 'm', 'u', 'yes', 2, 1, 1, 500000, 1)`;
    if (restricted) await migrate(sql, { grants: GRANTS });
    const connection = restricted ? database.connection : database.server;
    server = connect(connection, { name: "server", max: 1, restricted });
  });
  afterAll(async () => {
    await server.end({ timeout: 5 });
    await close();
  });

  test("is there after a migration", async () => {
    expect(await serverRoleAvailable(sql, GRANTS)).toBe(restricted);
    const name = restricted ? APP_ROLE : SERVER_LOGIN;
    expect(await server`select current_user::text as name`).toEqual([{ name }]);
  });

  const denied = expect.objectContaining({ code: "42501" });

  test.each(JOURNALS)("cannot rewrite %s: neither update, nor delete, nor truncate", async (table) => {
    await expect(server`update ${server(table)} set seq = 2`).rejects.toEqual(denied);
    await expect(server`delete from ${server(table)}`).rejects.toEqual(denied);
    await expect(server`truncate ${server(table)}`).rejects.toEqual(denied);
    await expect(
      server`insert into ${server(table)} select * from ${server(table)} on conflict do nothing`,
    ).resolves.toBeDefined();
    expect(await sql`select 1 from ${sql(table)}`).toHaveLength(1);
  });

  test.each(["receipt", "inbound_delivery", "market", "migration"])("cannot rewrite %s either", async (table) => {
    await expect(server`delete from ${server(table)}`).rejects.toEqual(denied);
    await expect(server`truncate ${server(table)}`).rejects.toEqual(denied);
  });

  test.each(["account", "book", "position", "head"])("cannot make rows of %s disappear", async (table) => {
    await expect(server`delete from ${server(table)}`).rejects.toEqual(denied);
    await expect(server`truncate ${server(table)}`).rejects.toEqual(denied);
  });

  test("cannot change the tables themselves", async () => {
    await expect(server`alter table audit add column x int`).rejects.toEqual(denied);
    await expect(server`drop table audit`).rejects.toEqual(denied);
    await expect(server`create table x (id int)`).rejects.toEqual(denied);
    await expect(server`create rule forget as on insert to audit do instead nothing`).rejects.toEqual(denied);
  });

  test.each(JOURNALS)("the owner can rewrite %s: restoring and repairing stay possible", async (table) => {
    await sql`update ${sql(table)} set seq = 2`;
    await sql`delete from ${sql(table)}`;
    await sql`truncate ${sql(table)}`;
  });
});
