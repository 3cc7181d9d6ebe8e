import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sql } from "../../src/postgres/connect.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { foundIn, HEDGE, openLedger, TAMPERS } from "../ledger/ledger.ts";
import { DOLLAR, deposit, KEY, type Live, trade } from "../ledger/sequencer/live.ts";

let live: Live;

const CHECKS = [
  ...["accounts", "configuration", "decisions", "escrow", "fundingDays", "head", "hedges", "hours", "keys", "kyc"],
  ...["markets", "policy", "pools", "positions", "record", "restrictions", "settlements", "suitability", "traderDays"],
  ...["trades", "transfers", "users", "volume", "withdrawals"],
];

beforeAll(async () => {
  live = await openLedger();
});
afterAll(() => live.close());

const found = (tamper: (sql: Sql) => PromiseLike<unknown>) => foundIn(live, tamper);

async function number(query: (sql: Sql) => PromiseLike<readonly { n?: unknown }[]>): Promise<bigint> {
  const [row] = await query(live.owner);
  return BigInt(String(row?.n));
}

test("an untouched ledger has its checks, all of them zero", async () => {
  expect(await reconcileLedger(live.owner, [KEY])).toMatchObject(
    CHECKS.map((name) => ({ name, differenceMicro: 0n, rows: 0 })),
  );
});

describe("reconciliation names every check that a change in the database breaks, to the micro-dollar", () => {
  test.each(TAMPERS)("%s", async (_, statement, expected) => {
    const differences = await found((sql) => sql.unsafe(statement));
    expect(Array.isArray(expected) ? Object.keys(differences).sort() : differences).toEqual(expected);
  });

  test("a market that is gone except for its escrow", async () => {
    const balance = await number((sql) => sql`select balance_micro as n from account where id = 'escrow:m1'`);
    const differences = await found(async (sql) => {
      await sql`delete from book where market_id = 'm1'`;
      await sql`delete from market where id = 'm1'`;
    });
    expect(differences).toMatchObject({ escrow: 2n * balance + DOLLAR });
  });

  test("a transfer that vanished", async () => {
    const amount = await number(
      (sql) => sql`
      select amount_micro as n from transfer where credit = 'wallet:ann' and debit = 'external:payments'`,
    );
    const tamper = (sql: Sql) => sql`
      delete from transfer where credit = 'wallet:ann' and debit = 'external:payments'`;
    expect(await found(tamper)).toEqual({ transfers: amount, fundingDays: amount });
  });

  test("a transfer's amount", async () => {
    const tamper = (sql: Sql) => sql`
      update transfer set amount_micro = amount_micro + 6 where credit = 'wallet:ann' and debit = 'external:payments'`;
    expect(await found(tamper)).toEqual({ transfers: 6n, fundingDays: 6n });
  });

  test("a trade's owner", async () => {
    const amount = await number((sql) => sql`select amount_micro as n from trade where id = 'm1-ann'`);
    const differences = await found((sql) => sql`update trade set trader_id = 'eve' where id = 'm1-ann'`);
    expect(differences).toEqual({
      trades: DOLLAR,
      // Volume and number of trades, missing on one day and too many on another.
      traderDays: 2n * (amount + DOLLAR),
    });
  });

  test("a trade that vanished", async () => {
    const shares = await number((sql) => sql`select shares_micro as n from trade where id = 'm2-bob'`);
    const fee = await number((sql) => sql`select fee_micro as n from trade where id = 'm2-bob'`);
    // The hour ends at the price of the trade before it, if that is of the same hour.
    const moved = await number(
      (sql) => sql`
      select coalesce(abs(t.yes_price_ppm - (
               select yes_price_ppm from trade
                where market_id = t.market_id and seq < t.seq and ts / 3600000 = t.ts / 3600000
                order by seq desc limit 1)), 0) as n
        from trade t where id = 'm2-bob'`,
    );
    expect(await found((sql) => sql`delete from trade where id = 'm2-bob'`)).toEqual({
      trades: DOLLAR,
      escrow: shares,
      hours: 5n * DOLLAR + fee + moved,
      traderDays: 6n * DOLLAR,
    });
  });

  test("a settled market that is opened again, or an open one that is called settled", async () => {
    const escrow = await number((sql) => sql`select balance_micro as n from account where id = 'escrow:m1'`);
    const close = (sql: Sql) => sql`
      update book set status = 'settled', outcome = 'yes', settled_at = 1 where market_id = 'm1'`;
    expect(await found(close)).toEqual({ escrow, settlements: DOLLAR });
    const reopen = (sql: Sql) => sql`
      update book set status = 'open', outcome = null, settled_at = null where market_id = 'old'`;
    expect((await found(reopen)).escrow).toBeGreaterThan(1000n * DOLLAR);
  });

  test("the price at the end of an hour that is over", async () => {
    const over = async (sql: Sql) => {
      await sql`
        insert into market_hour (market_id, hour, volume_micro, fee_micro, yes_price_ppm)
        select market_id, hour, hour_volume_micro, hour_fee_micro, yes_price_ppm - 5 from book where market_id = 'm1'`;
      await sql`update book set hour = 0, hour_volume_micro = 0, hour_fee_micro = 0 where market_id = 'm1'`;
    };
    expect(await found(over)).toEqual({ hours: 5n });
  });

  test("money in and out by provider and day: a row that is gone, a day that is another", async () => {
    const of = (sql: Sql) => sql`where provider = 'payments'`;
    expect(await found((sql) => sql`delete from funding_day ${of(sql)}`)).toEqual({ fundingDays: 200n * DOLLAR });
    expect(await found((sql) => sql`update funding_day set day = day - 864000000 ${of(sql)}`)).toEqual({
      fundingDays: 400n * DOLLAR,
    });
  });
});

describe("what the log states once", () => {
  test.each<[string, string, (sql: Sql) => PromiseLike<unknown>]>([
    ["a market's kind", "markets", (sql) => sql`update market set kind = 'lmsr' where id = 'm1'`],
    ["a market's funds", "markets", (sql) => sql`update market set fund_micro = fund_micro + 1 where id = 'm1'`],
    ["an outcome", "settlements", (sql) => sql`update book set outcome = 'no' where market_id = 'old'`],
    [
      "the time of a settlement",
      "settlements",
      (sql) => sql`update book set settled_at = settled_at + 1 where market_id = 'old'`,
    ],
    ["a decision", "decisions", (sql) => sql`update withdrawal set status = 'rejected' where id = 'w2'`],
    [
      "the time of a decision",
      "decisions",
      (sql) => sql`update withdrawal set decided_at = decided_at - 90000000 where id = 'w2'`,
    ],
    [
      "the amount of a decided withdrawal",
      "withdrawals",
      (sql) => sql`update withdrawal set amount_micro = 1 where id = 'w2'`,
    ],
    [
      "the user of a decided withdrawal",
      "decisions",
      (sql) => sql`update withdrawal set trader_id = 'ann' where id = 'w2'`,
    ],
    [
      "a decided withdrawal that vanished",
      "decisions withdrawals",
      (sql) => sql`delete from withdrawal where id = 'w2'`,
    ],
    [
      "an unreadable entry of a settlement",
      "record",
      (sql) => sql`update audit set payload = '{' where type = 'market.settled'`,
    ],
  ])("is compared with the tables: %s", async (_, check, tamper) => {
    expect(Object.keys(await found(tamper)).join(" ")).toBe(check);
  });
});

test("a trade for a name that JSON has to escape, with an operator's reason, agrees with its entry", async () => {
  const traderId = 'a"b\\c';
  await live.run(deposit(traderId, 10n * DOLLAR, "tx-escaped"));
  const [sequencer] = live.sequencers;
  await sequencer?.submit({
    command: { ...trade("m1", traderId, { id: "escaped" }), hedgeRef: { ...HEDGE, externalRef: '},"marketId":"' } },
    actor: "test",
    reason: 'because "," of \\',
  });
  // Less than a hundredth of a cent of fee is written without an exponent.
  await live.run(trade("m1", traderId, { id: "tiny", amountMicro: 1_001n }));
  expect(await found((sql) => sql`select 1`)).toEqual({});
});

test("explained, every check has both sums and the first places that disagree", async () => {
  const undone = new Error("undone");
  const attempt = live.owner.begin(async (transaction) => {
    const sql = transaction as unknown as Sql;
    await sql`update account set balance_micro = balance_micro + 3 where id = 'wallet:ann'`;
    const explained = await reconcileLedger(sql, [KEY]);
    expect(explained.map(({ name }) => name)).toEqual(CHECKS);
    const accounts = explained.find(({ name }) => name === "accounts");
    // All accounts together hold nothing: what one has, another gave.
    expect(accounts).toMatchObject({ differenceMicro: 3n, rows: 1, statedMicro: 3n, expectedMicro: 0n });
    expect(accounts?.places).toMatchObject([{ place: "wallet:ann", differenceMicro: 3n }]);
    for (const check of explained.filter(({ name }) => name !== "accounts"))
      expect(check).toMatchObject({ differenceMicro: 0n, places: [] });
    throw undone;
  });
  await expect(attempt).rejects.toBe(undone);
});
