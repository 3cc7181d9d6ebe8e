import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MarketTerms } from "../../src/domain/market/terms.ts";
import type { PaymentFact } from "../../src/engine/payments.ts";
import { leaveOutUnproven, MAC_TABLES, SCHEMA } from "../../src/ledger/schema.ts";
import type { Sql } from "../../src/postgres/connect.ts";
import { NOTHING_OFF } from "../../src/queries/reconcile/checks.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { findUnexplained } from "../../src/queries/reconcile/unexplained.ts";
import { openLedger } from "../ledger/ledger.ts";
import { config, DOLLAR, KEY, type Live, market, sale, trade } from "../ledger/sequencer/live.ts";

const CLOSE = Date.now() + 86_400_000;
const TERMS: MarketTerms = {
  ...{ feed: "pm:btc", comparator: ">", strike: "100000", upperStrike: null, rule: { kind: "last" } },
  ...{ instant: CLOSE, feedSha256: "f".repeat(64) },
} as const;

let live: Live;
beforeAll(async () => {
  live = await openLedger();
  const payment = (reference: string, ownerId: string | undefined, fact: PaymentFact) =>
    live.run({ type: "recordPayment", provider: "stripe", reference, ownerId, fact });
  await live.run(market("oracle", { terms: TERMS, resolutionRef: "pm:btc > 100000", closeAt: CLOSE, fileKey: "btc" }));
  await live.run(market("held", { kind: "lmsr", p0Ppm: 123_456, question: 'Lone \ud800, "quoted" and \\ud800?' }));
  for (const marketId of ["oracle", "held"])
    await live.run({ type: "holdMarket", marketId, reason: "stale", detail: "no price" });
  await live.run({ type: "suspendMarket", marketId: "held" });
  for (const id of ["m1", "oracle"]) await live.run({ type: "suspendMarket", marketId: id });
  await live.run({ type: "resumeMarket", marketId: "m1" });
  await live.run(sale("m2", "bob", { side: "no", sharesMicro: DOLLAR }));
  await live.run({ type: "decideWithdrawal", id: "w1", traderId: "bob", approve: false });
  await live.run({ type: "requestWithdrawal", id: "w3", traderId: "bob", amountMicro: DOLLAR });
  for (const id of ["a1", "a2"])
    await live.run({ type: "submitSuitability", id, traderId: "ann", answers: { q1: 3, q2: 1 } });
  await live.run({ type: "creditWallet", id: "crd_1", traderId: "carl", amountMicro: 3n * DOLLAR });
  await live.run({ ...config(), capitalMicro: 60_000n * DOLLAR } as ReturnType<typeof config>);
  // Payments of every kind: paid, refunded before and after, taken back beyond the wallet, disputed and won.
  const paid = (traderId: string | undefined, dollars: bigint, received = true): PaymentFact => {
    return { kind: "paid", traderId, amountMicro: dollars * DOLLAR, received };
  };
  const refund = (id: string, dollars: bigint, failed = false): PaymentFact => {
    return { kind: "refund", refunds: [{ id, amountMicro: dollars * DOLLAR, failed }] };
  };
  await payment("pi_1", undefined, paid("dora", 20n));
  await payment("pi_1", "dora", refund("re_1", 5n));
  await payment("pi_1", "dora", { kind: "refund", refunds: [], totalMicro: 7n * DOLLAR });
  await payment("pi_2", undefined, refund("re_2", 4n));
  await payment("pi_2", undefined, paid("dora", 10n, false));
  await payment("pi_2", "dora", refund("re_3", 1n, true));
  await payment("pi_3", undefined, paid("emil", 30n));
  await live.run({ type: "requestWithdrawal", id: "w4", traderId: "emil", amountMicro: 30n * DOLLAR });
  await payment("pi_3", "emil", { kind: "dispute", id: "dp_1", amountMicro: 30n * DOLLAR, won: false });
  await payment("pi_3", "emil", { kind: "dispute", id: "dp_1", amountMicro: 30n * DOLLAR, won: true });
  await payment("pi_4", undefined, paid(undefined, 8n));
  await payment("pi_5", undefined, paid("emil", 9n, false));
  await payment("pi_5", "emil", paid("emil", 6n));
  await live.run({ type: "settleMarket", marketId: "m2", outcome: "no" });
  await live.run(trade("m1", "ann", { side: "yes", amountMicro: 3n * DOLLAR }));
});
afterAll(() => live.close());

/** The unexplained rows after the database's owner has changed the database. */
async function foundAfter(tamper: (sql: Sql) => PromiseLike<unknown>): Promise<string[]> {
  const undone = new Error("undone");
  let tables: string[] = [];
  const attempt = live.owner.begin(async (transaction) => {
    const sql = transaction as unknown as Sql;
    await tamper(sql);
    const checks = await reconcileLedger(sql, [KEY]);
    const off = checks.filter(({ differenceMicro }) => differenceMicro !== 0n).map(({ name }) => name);
    const unexplained = (await findUnexplained(sql)).map(({ table }) => table);
    tables = [...new Set([...off, ...unexplained])].sort();
    throw undone;
  });
  await expect(attempt).rejects.toBe(undone);
  return tables;
}

test("the log explains every row that the engine has written", async () => {
  expect(await foundAfter((sql) => sql`select 1`)).toEqual([]);
  expect(await reconcileLedger(live.owner, [KEY])).toEqual(NOTHING_OFF.map((check) => expect.objectContaining(check)));
});

test("every table of the schema is accounted for, by the chain or by a backup's mac, but the sessions that no backup has", async () => {
  const rows = await live.owner`
    select relname from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relpersistence = 'p' and relname <> 'migration'
     order by 1`;
  expect(rows.map(({ relname }) => relname)).toEqual(
    SCHEMA.filter(({ name, provenBy }) => provenBy !== undefined || name === "console_session")
      .map(({ name }) => name)
      .sort(),
  );
});

test("rows that only a backup's mac proves can be left out, and the log still explains the rest", async () => {
  const keys: Record<string, unknown>[] = [];
  const leaveOut = async (sql: Sql) => {
    await sql`insert into api_key values (${"b".repeat(64)}, 'forged', 'admin', 0, null, 1, '*', '')`;
    await leaveOutUnproven(sql);
    keys.push(...(await sql`select name from api_key where name = 'forged'`));
  };
  expect(await foundAfter(leaveOut)).toEqual([]);
  expect(keys).toEqual([]);
  expect(MAC_TABLES).toContain("stored_answer");
});

describe("a row that no entry explains is found", () => {
  const money = (debit: string, credit: string) => (sql: Sql) =>
    sql`insert into transfer (seq, leg, debit, credit, amount_micro) values (1, 99, ${debit}, ${credit}, 1000000)`;
  test.each<[string, string[], (sql: Sql) => PromiseLike<unknown>]>([
    ["a transfer from nowhere", ["fundingDays", "transfers"], money("external:operator", "wallet:ann")],
    ["a transfer between users", ["transfers"], money("wallet:bob", "wallet:ann")],
    ["capital that no apply moved in", ["transfers"], money("external:capital", "treasury")],
    [
      "a transfer beyond the head",
      ["fundingDays", "record", "transfer"],
      (sql) => sql`update transfer set seq = 99999 where credit = 'wallet:carl'`,
    ],
    [
      "a settlement's payout to another user",
      ["transfers"],
      (sql) =>
        sql`update transfer set credit = 'wallet:ann' where debit = 'escrow:m2' and credit = 'wallet:bob' and seq = (select seq from audit where type = 'market.settled' and payload like '%"m2"%')`,
    ],
    [
      "a receipt that would swallow a deposit",
      ["receipt"],
      (sql) => sql`insert into receipt values ('payments', 'tx-future', 1, 'ann', '')`,
    ],
    [
      "a receipt that would swallow a refund",
      ["receipt"],
      (sql) => sql`insert into receipt values ('stripe', 're_9', 1000000, 'dora', '')`,
    ],
    ["a receipt of nothing", ["receipt"], (sql) => sql`insert into receipt values ('other', 'x', 0, '', '')`],
    ["a receipt that is missing", ["receipt"], (sql) => sql`delete from receipt where reference = 'tx-ann'`],
    [
      "a receipt of another amount",
      ["receipt"],
      (sql) => sql`update receipt set amount_micro = 1 where reference = 'tx-ann'`,
    ],
    ["a payment that is missing", ["receipt"], (sql) => sql`delete from payment where reference = 'pi_1'`],
    [
      "a payment without an entry",
      ["payment"],
      (sql) => sql`insert into payment select provider, 'pi_9', '', 0, null, 0, 0, 0, 0, 0, 0, 1 from payment limit 1`,
    ],
    [
      "a payment of another user",
      ["payment"],
      (sql) => sql`update payment set user_id = 'ann' where reference = 'pi_1'`,
    ],
    [
      "a refund that is forgotten",
      ["payment"],
      (sql) => sql`update payment set refund_total_micro = 0 where reference = 'pi_1'`,
    ],
    [
      "a credit that was smaller",
      ["payment"],
      (sql) =>
        sql`update payment set credited_micro = 100, received_micro = 100, taken_back_micro = 0 where reference = 'pi_1'`,
    ],
    [
      "a dispute that was won twice",
      ["receipt"],
      (sql) => sql`update payment set disputed_micro = 0 where reference = 'pi_3'`,
    ],
    ["other rules to read", ["markets"], (sql) => sql`update market set meta = '{"rules":"others"}' where id = 'm1'`],
    ["another category", ["markets"], (sql) => sql`update market set category = 'other' where id = 'm1'`],
    ["another reference", ["markets"], (sql) => sql`update market set resolution_ref = 'x' where id = 'm1'`],
    ["another beginning", ["markets"], (sql) => sql`update market set created_at = created_at - 1 where id = 'm1'`],
    ["another question", ["markets"], (sql) => sql`update market set question = 'Will it not?' where id = 'm1'`],
    ["another closing time", ["markets"], (sql) => sql`update market set close_at = close_at + 1 where id = 'm1'`],
    [
      "other terms",
      ["markets"],
      (sql) => sql`update market set terms = replace(terms, '100000', '1') where id = 'oracle'`,
    ],
    [
      "a market without an entry of its creation",
      ["escrow", "markets", "pools", "settlements"],
      (sql) =>
        sql`with m as (insert into market select 'm9', question, category, kind, p0_ppm, fund_micro, close_at, resolution_ref, meta, created_at, house_yes_micro, house_no_micro, null, null from market where id = 'm1') insert into book select 'm9', 'open', 1, 1, 0, null, null, 1, false, 0, 0, 0, 0`,
    ],
    [
      "a market that is missing",
      ["escrow", "hours", "markets", "pools", "settlements", "volume"],
      (sql) => sql`with m as (delete from market where id = 'm1') delete from book where market_id = 'm1'`,
    ],
    [
      "a market that is open again",
      ["settlements"],
      (sql) => sql`update book set status = 'open' where market_id = 'held'`,
    ],
    [
      "a closing without an entry",
      ["markets"],
      (sql) => sql`update book set closing_recorded = true where market_id = 'm1'`,
    ],
    [
      "another instant that decides",
      ["markets"],
      (sql) => sql`update oracle_watch set instant_at = instant_at - 60000 where market_id = 'oracle'`,
    ],
    [
      "an oracle that has forgotten a market",
      ["markets"],
      (sql) => sql`delete from oracle_watch where market_id = 'oracle'`,
    ],
    [
      "a hold without an entry",
      ["markets"],
      (sql) => sql`update oracle_watch set reason = 'jump' where market_id = 'held'`,
    ],
    [
      "a watch that ended early",
      ["markets"],
      (sql) => sql`update oracle_watch set settled = true where market_id = 'oracle'`,
    ],
    [
      "a trade of another day",
      ["hours", "traderDays", "trades"],
      (sql) => sql`update trade set ts = ts - 86400000 where id = 'm1-ann'`,
    ],
    [
      "an assessment with other answers",
      ["suitability"],
      (sql) => sql`update assessment set answers = '{"q1":4,"q2":0}' where id = 'a1'`,
    ],
    [
      "an assessment without an entry",
      ["suitability"],
      (sql) => sql`insert into assessment values ('a9', 'bob', '{}', 20, 0)`,
    ],
    ["an assessment that is missing", ["suitability"], (sql) => sql`delete from assessment where id = 'a1'`],
    [
      "an entry beyond the head",
      ["audit", "head", "record"],
      (sql) =>
        sql`insert into audit select seq + 1000, type, actor, payload, ts, key_id, hash from audit where seq = 1`,
    ],
    [
      "an entry before the first",
      ["audit", "record"],
      (sql) => sql`insert into audit select -5, type, actor, payload, ts, key_id, hash from audit where seq = 1`,
    ],
    ["a head in the future", ["head"], (sql) => sql`update head set ts = ts + 86400000`],
    [
      "a receiver that would skip events",
      ["webhook_receiver"],
      (sql) => sql`insert into webhook_receiver (name, position, fingerprint) values ('crm', 99999, 'x')`,
    ],
  ])("%s", async (_what, tables, tamper) => {
    expect(await foundAfter(tamper)).toEqual(tables);
  });
});
