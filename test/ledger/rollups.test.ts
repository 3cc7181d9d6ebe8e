import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/domain/time/units.ts";
import type { Batch } from "../../src/ledger/commit.ts";
import { fundingDayRows, hourRows, traderDayRows } from "../../src/ledger/rollups.ts";
import { GRANTS } from "../../src/ledger/schema.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { migrate, readMigrations } from "../../src/postgres/migrate.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

const NOON = 20_000 * DAY_MS + 12 * HOUR_MS;
type Trade = Batch["trades"][number];

const trade = (change: Partial<Trade>): Trade => ({
  seq: 1n,
  id: "t",
  marketId: "m1",
  traderId: "ann",
  side: "yes",
  amountMicro: 100n,
  feeMicro: 1n,
  sharesMicro: 150n,
  releasedMicro: null,
  hedgeRef: null,
  yesPricePpm: 600_000,
  ts: NOON,
  ...change,
});

describe("rollups of a batch", () => {
  const day = NOON - 12 * HOUR_MS;

  test("an hour of a market holds the volume, the fees and the last price", () => {
    const trades = [
      trade({}),
      trade({ marketId: "m2" }),
      trade({ amountMicro: 7n, feeMicro: 2n, yesPricePpm: 610_000 }),
    ];
    expect(hourRows(trades)).toEqual([
      { marketId: "m1", hour: NOON, volumeMicro: 107n, yesPricePpm: 610_000, feeMicro: 3n },
      { marketId: "m2", hour: NOON, volumeMicro: 100n, yesPricePpm: 600_000, feeMicro: 1n },
    ]);
  });

  test("a day of a trader on a market holds the volume and the trades, and what sales brought over their cost", () => {
    const trades = [
      trade({}),
      trade({ amountMicro: 90n, feeMicro: 2n, releasedMicro: 100n }),
      trade({ traderId: "bob" }),
    ];
    expect(traderDayRows(trades)).toEqual([
      { day, traderId: "ann", marketId: "m1", volumeMicro: 190n, trades: 2, realizedMicro: -12n },
      { day, traderId: "bob", marketId: "m1", volumeMicro: 100n, trades: 1, realizedMicro: 0n },
    ]);
  });

  test("funding counts money that enters or leaves the platform, without trades, pending withdrawals and the house's capital", () => {
    const move = (debit: string, credit: string, amountMicro: bigint) => ({
      debit,
      credit,
      amountMicro,
      seq: 1n,
      leg: 0,
    });
    const transfers = [
      move("external:payments", "wallet:ann", 50n),
      move("external:payments", "wallet:bob", 5n),
      move("wallet:ann", "escrow:m1", 20n),
      move("wallet:ann", "pending:ann", 10n),
      move("pending:ann", "external:withdrawals", 10n),
      move("wallet:bob", "external:payments", 3n),
      move("external:capital", "treasury", 1000n),
    ];
    expect(fundingDayRows(transfers, NOON)).toEqual([
      { day, provider: "payments", inflowMicro: 55n, outflowMicro: 3n },
      { day, provider: "withdrawals", inflowMicro: 0n, outflowMicro: 10n },
    ]);
  });
});

describe("a database from before the rollups", () => {
  let scene: TestTenant;
  beforeAll(async () => {
    scene = await openTestTenant();
    await scene.deposit("ann", 100);
    await scene.deposit("bob", 50);
    for (const kind of ["cpmm", "lmsr"] as const) {
      const marketId = await scene.market({ kind });
      for (const user of ["ann", "bob", "ann"])
        await scene.api(user).placeTrade({ marketId, selection: { side: "yes" }, amount: 3.21 });
    }
  });
  afterAll(() => scene.close());

  test("gets the same rollups from its journals when it is migrated", async () => {
    const old = await createTestDatabase();
    const [source, copy] = [scene.database, old].map(({ connection }) => connect(connection, { name: "test", max: 1 }));
    if (!source || !copy) throw new Error("two connections");
    try {
      await copy.unsafe("drop schema public cascade; create schema public");
      const migrations = await readMigrations();
      await migrateTo(copy, migrations.slice(0, 2));
      for (const table of ["trade", "transfer", "audit", "market_hour"]) await copyRows(source, copy, table);
      await migrate(copy, { grants: GRANTS, migrations });
      for (const table of ["market_hour", "trader_day", "funding_day"])
        expect(await rowsOf(copy, table)).toEqual(await rowsOf(source, table));
      const held = (await rowsOf(copy, "trader_day")).map(({ trader_id, market_id }) => `${trader_id} ${market_id}`);
      expect(new Set(held).size).toBe(4);
    } finally {
      await Promise.all([source, copy].map((sql) => sql.end({ timeout: 5 })));
      await old.drop();
    }
  });
});

/** Without the grants, which name tables that are not there yet. */
async function migrateTo(sql: Sql, migrations: Awaited<ReturnType<typeof readMigrations>>): Promise<void> {
  await sql.unsafe(`create table migration (
    version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now()
  )`);
  for (const { version, name, checksum, text } of migrations)
    await sql.unsafe(`insert into migration values (${version}, '${name}', '${checksum}'); ${text}`);
}

async function rowsOf(sql: Sql, table: string): Promise<Record<string, unknown>[]> {
  return sql.unsafe(`select * from ${table} t order by t::text`);
}

/** The columns that the older table has. */
async function copyRows(from: Sql, to: Sql, table: string): Promise<void> {
  const columns = (
    await to`select column_name as name from information_schema.columns where table_name = ${table}`
  ).map(({ name }) => String(name));
  for (const row of await from.unsafe(`select ${columns.join(", ")} from ${table}`))
    await to.unsafe(
      `insert into ${table} (${columns.join(", ")}) values (${columns.map((_, index) => `$${index + 1}`).join(", ")})`,
      columns.map((name) => row[name]),
    );
}
