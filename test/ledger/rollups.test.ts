import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/domain/time/units.ts";
import type { Batch } from "../../src/ledger/commit.ts";
import { fundingDayRows, hourRows, traderDayRows } from "../../src/ledger/rollups.ts";
import { GRANTS } from "../../src/ledger/schema.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { migrate, readMigrations } from "../../src/postgres/migrate.ts";
import { marketHours, traderDays } from "../../src/queries/rollups.ts";
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
  hourOver: null,
  dayOver: null,
  ...change,
});

describe("rollups of a batch", () => {
  const day = NOON - 12 * HOUR_MS;

  test("hours and days that are over become a row each, though both sides of a market end a day", () => {
    const hour = { marketId: "m1", hour: NOON, hourVolumeMicro: 100n, hourFeeMicro: 1n, yesPricePpm: 600_000 };
    const side = { traderId: "ann", marketId: "m1", day, dayVolumeMicro: 100n, dayTrades: 2, dayRealizedMicro: -12n };
    const trades = [
      trade({ hourOver: hour, dayOver: side }),
      trade({}),
      trade({ dayOver: side }),
      trade({ hourOver: { ...hour, marketId: "m2" }, dayOver: { ...side, traderId: "bob" } }),
    ];
    expect(hourRows(trades)).toEqual([hour, { ...hour, marketId: "m2" }]);
    expect(traderDayRows(trades)).toEqual([
      { ...side, dayVolumeMicro: 200n, dayTrades: 4, dayRealizedMicro: -24n },
      { ...side, traderId: "bob" },
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
      for (const table of ["trade", "transfer", "audit", "book", "position"]) await copyRows(source, copy, table);
      for (const {
        market_id,
        hour,
        volume_micro,
        yes_price_ppm,
      } of await source`select * from ${marketHours(source)} h`)
        await copy`insert into market_hour values (${market_id}, ${hour}, ${volume_micro}, ${yes_price_ppm})`;
      await migrate(copy, { grants: GRANTS, migrations });
      for (const table of ["market_hour", "funding_day", "book"])
        expect(await rowsOf(copy, table)).toEqual(await rowsOf(source, table));
      const days = (sql: Sql) => sql`
        select day, trader_id, market_id, sum(volume_micro) as volume, sum(trades) as trades, sum(realized_micro) as realized
          from ${traderDays(sql)} d
         group by 1, 2, 3
         order by 1, 2, 3`;
      expect(await days(copy)).toEqual(await days(source));
      const lastDays = (sql: Sql) => sql`select trader_id, market_id, side, day from position order by 1, 2, 3`;
      expect(await lastDays(copy)).toEqual(await lastDays(source));
      const held = (await days(copy)).map(({ trader_id, market_id }) => `${trader_id} ${market_id}`);
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
