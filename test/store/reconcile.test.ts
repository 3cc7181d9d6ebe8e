import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sql } from "../../src/store/connect.ts";
import { reconcileLedger } from "../../src/store/queries/reconcile.ts";
import { config, DOLLAR, deposit, type Live, market, openLive, trade } from "../sequencer/live.ts";

let live: Live;

beforeAll(async () => {
  live = await openLive();
  await live.run(config());
  for (const id of ["m1", "m2", "old"]) await live.run(market(id, { kind: id === "m2" ? "lmsr" : "cpmm" }));
  for (const traderId of ["ann", "bob"]) await live.run(deposit(traderId, 100n * DOLLAR, `tx-${traderId}`));
  for (const marketId of ["m1", "m2", "old"]) {
    await live.run(trade(marketId, "ann", { id: `${marketId}-ann`, side: "yes", amountMicro: 7n * DOLLAR }));
    await live.run(trade(marketId, "bob", { id: `${marketId}-bob`, side: "no", amountMicro: 5n * DOLLAR }));
  }
  await live.run({ type: "settleMarket", marketId: "old", outcome: "yes" });
});
afterAll(() => live.close());

/** What each check that is not zero has found, after somebody at the owner's keyboard has changed the ledger. */
async function found(tamper: (sql: Sql) => PromiseLike<unknown>): Promise<Record<string, bigint>> {
  const undone = new Error("undone");
  let differences: Record<string, bigint> = {};
  const attempt = live.owner.begin(async (transaction) => {
    const sql = transaction as unknown as Sql;
    await tamper(sql);
    const checks = await reconcileLedger(sql);
    differences = Object.fromEntries(
      checks.filter(({ differenceMicro }) => differenceMicro !== 0n).map((each) => [each.name, each.differenceMicro]),
    );
    throw undone;
  });
  await expect(attempt).rejects.toBe(undone);
  return differences;
}

async function number(query: (sql: Sql) => PromiseLike<readonly { n?: unknown }[]>): Promise<bigint> {
  const [row] = await query(live.owner);
  return BigInt(String(row?.n));
}

test("an untouched ledger has six checks, all of them zero", async () => {
  expect(await reconcileLedger(live.owner)).toEqual(
    ["accounts", "escrow", "head", "positions", "trades", "volume"].map((name) => ({
      name,
      differenceMicro: 0n,
      rows: 0,
    })),
  );
});

describe("what somebody changes in the database is found by name and to the micro-dollar", () => {
  test("a wallet", async () => {
    expect(
      await found((sql) => sql`update account set balance_micro = balance_micro + 3 where id = 'wallet:ann'`),
    ).toEqual({
      accounts: 3n,
    });
  });

  test("two wallets that cancel out", async () => {
    const tamper = (sql: Sql) => sql`
      update account set balance_micro = balance_micro + case id when 'wallet:ann' then 5 else -5 end
       where id in ('wallet:ann', 'wallet:bob')`;
    expect(await found(tamper)).toEqual({ accounts: 10n });
  });

  test("a market's escrow: against its transfers, and against both sides' shares", async () => {
    expect(
      await found((sql) => sql`update account set balance_micro = balance_micro + 4 where id = 'escrow:m1'`),
    ).toEqual({
      accounts: 4n,
      escrow: 8n,
    });
  });

  test("an account that vanished", async () => {
    const balance = await number((sql) => sql`select balance_micro as n from account where id = 'wallet:bob'`);
    expect(await found((sql) => sql`delete from account where id = 'wallet:bob'`)).toEqual({ accounts: balance });
  });

  test("an account out of nowhere", async () => {
    const tamper = (sql: Sql) => sql`insert into account (id, balance_micro, version) values ('wallet:eve', 9, 1)`;
    expect(await found(tamper)).toEqual({ accounts: 9n });
  });

  test("a transfer that vanished", async () => {
    const amount = await number(
      (sql) => sql`
      select amount_micro as n from transfer where credit = 'wallet:ann' and debit = 'external:payments'`,
    );
    const tamper = (sql: Sql) => sql`
      delete from transfer where credit = 'wallet:ann' and debit = 'external:payments'`;
    expect(await found(tamper)).toEqual({ accounts: 2n * amount });
  });

  test("a transfer's amount", async () => {
    const tamper = (sql: Sql) => sql`
      update transfer set amount_micro = amount_micro + 6 where credit = 'wallet:ann' and debit = 'external:payments'`;
    expect(await found(tamper)).toEqual({ accounts: 12n });
  });

  test("a trade's amount: against position, audit entry and volume", async () => {
    expect(await found((sql) => sql`update trade set amount_micro = amount_micro + 2 where id = 'm1-ann'`)).toEqual({
      positions: 2n,
      trades: 2n,
      volume: 2n,
    });
  });

  test("a trade's shares: against position, audit entry and escrow", async () => {
    expect(await found((sql) => sql`update trade set shares_micro = shares_micro + 2 where id = 'm1-ann'`)).toEqual({
      positions: 2n,
      trades: 2n,
      escrow: 2n,
    });
  });

  test("a trade's fee", async () => {
    expect(await found((sql) => sql`update trade set fee_micro = fee_micro - 1 where id = 'm1-ann'`)).toEqual({
      trades: 1n,
    });
  });

  test("a trade's owner", async () => {
    const amount = await number((sql) => sql`select amount_micro as n from trade where id = 'm1-ann'`);
    const shares = await number((sql) => sql`select shares_micro as n from trade where id = 'm1-ann'`);
    const differences = await found((sql) => sql`update trade set trader_id = 'eve' where id = 'm1-ann'`);
    expect(differences).toEqual({ trades: amount, positions: 2n * (amount + shares) });
  });

  test("a trade that vanished", async () => {
    const shares = await number((sql) => sql`select shares_micro as n from trade where id = 'm2-bob'`);
    expect(await found((sql) => sql`delete from trade where id = 'm2-bob'`)).toEqual({
      trades: DOLLAR,
      positions: shares + 5n * DOLLAR,
      escrow: shares,
      volume: 5n * DOLLAR,
    });
  });

  test.each([["shares_micro"], ["cost_micro"]])("a position's %s, also in a market that is settled", async (column) => {
    for (const marketId of ["m1", "old"]) {
      const tamper = (sql: Sql) => sql`
        update position set ${sql(column)} = ${sql(column)} + 7 where market_id = ${marketId} and trader_id = 'ann'`;
      expect(await found(tamper)).toEqual({ positions: 7n });
    }
  });

  test.each(["yes_micro", "no_micro"])("a book's pool: %s", async (column) => {
    const tamper = (sql: Sql) => sql`update book set ${sql(column)} = ${sql(column)} - 8 where market_id = 'm2'`;
    expect(await found(tamper)).toEqual({ escrow: 8n });
  });

  test("the house's own shares", async () => {
    const tamper = (sql: Sql) => sql`update market set house_yes_micro = house_yes_micro + 1 where id = 'm1'`;
    expect(await found(tamper)).toEqual({ escrow: 1n });
  });

  test("a settled market that is opened again, or an open one that is called settled", async () => {
    const escrow = await number((sql) => sql`select balance_micro as n from account where id = 'escrow:m1'`);
    const close = (sql: Sql) => sql`
      update book set status = 'settled', outcome = 'yes', settled_at = 1 where market_id = 'm1'`;
    expect(await found(close)).toEqual({ escrow });
    const reopen = (sql: Sql) => sql`
      update book set status = 'open', outcome = null, settled_at = null where market_id = 'old'`;
    expect((await found(reopen)).escrow).toBeGreaterThan(1000n * DOLLAR);
  });

  test("a volume: of the book, against trades and hours; of an hour, against the book", async () => {
    expect(await found((sql) => sql`update book set volume_micro = volume_micro + 3 where market_id = 'm1'`)).toEqual({
      volume: 6n,
    });
    const hour = (sql: Sql) => sql`update market_hour set volume_micro = volume_micro + 3 where market_id = 'm1'`;
    expect(await found(hour)).toEqual({ volume: 3n });
  });

  test("the audit's tail cut off: the head row remembers how long it was", async () => {
    const [last] = await live.owner`select max(seq) as seq from audit where type = 'trade.executed'`;
    const cut = await number((sql) => sql`select max(seq) - ${last?.seq} + 1 as n from audit`);
    const differences = await found((sql) => sql`delete from audit where seq >= ${last?.seq}`);
    expect(differences).toEqual({ head: cut * DOLLAR, trades: 5n * DOLLAR });
  });

  test("the head row set back with it: the trade is still without its entry", async () => {
    const [last] = await live.owner`select max(seq) as seq from audit where type = 'trade.executed'`;
    const tamper = async (sql: Sql) => {
      await sql`delete from audit where seq >= ${last?.seq}`;
      await sql`update head set seq = (select max(seq) from audit)`;
    };
    expect(await found(tamper)).toEqual({ trades: 5n * DOLLAR });
  });

  test("an amount in an audit entry", async () => {
    const tamper = (sql: Sql) => sql`
      update audit set payload = replace(payload, '"amount":"7"', '"amount":"7.5"') where payload like '%"m1-ann"%'`;
    expect(await found(tamper)).toEqual({ trades: 500_000n });
  });

  test("an audit entry that is no longer readable is never taken for a good one", async () => {
    const tamper = (sql: Sql) => sql`update audit set payload = 'gone' where payload like '%"m1-ann"%'`;
    // The statement itself may fail on it, which is no clean bill either.
    const differences = await found(tamper).catch(() => ({ trades: DOLLAR }));
    expect(differences.trades).toBeGreaterThan(0n);
  });
});
