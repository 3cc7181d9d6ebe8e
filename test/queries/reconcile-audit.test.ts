import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sql } from "../../src/postgres/connect.ts";
import { trades } from "../../src/queries/reconcile/reconcile-entries.ts";
import { foundIn, openLedger } from "../ledger/ledger.ts";
import { DOLLAR, type Live } from "../ledger/sequencer/live.ts";

/** What came after the last trade: a settlement and two withdrawals; the one paid out has lost its day, and has none. */
const LATER = { settlements: DOLLAR, decisions: 2n * DOLLAR, fundingDays: 20n * DOLLAR };

let live: Live;
beforeAll(async () => {
  live = await openLedger();
});
afterAll(() => live.close());

const found = (tamper: (sql: Sql) => PromiseLike<unknown>) => foundIn(live, tamper);

describe("the checks of the ledger find what was changed in the audit log", () => {
  /** The last trade's entry and everything after it: the settlement, the withdrawals. */
  const lastTrade = async () => {
    const [last] = await live.owner`
      select t.seq, t.amount_micro, (select max(seq) from audit) - t.seq + 1 as entries
        from trade t order by t.seq desc limit 1`;
    return { seq: last?.seq, amountMicro: BigInt(last?.amount_micro), entries: BigInt(last?.entries) };
  };

  test("the audit's tail cut off: the head row remembers how long it was", async () => {
    const { seq, amountMicro, entries } = await lastTrade();
    const differences = await found((sql) => sql`delete from audit where seq >= ${seq}`);
    expect(differences).toEqual({ ...LATER, head: entries * DOLLAR, trades: amountMicro });
  });

  test("the tail cut off and the head row set back: the trade is still without its entry", async () => {
    const { seq, amountMicro } = await lastTrade();
    const tamper = async (sql: Sql) => {
      await sql`delete from audit where seq >= ${seq}`;
      await sql`update head set seq = (select max(seq) from audit)`;
    };
    expect(await found(tamper)).toEqual({ ...LATER, trades: amountMicro });
  });

  test("an amount in an audit entry", async () => {
    const tamper = (sql: Sql) => sql`
      update audit set payload = replace(payload, '"amount":"7"', '"amount":"7.5"') where payload like '%"m1-ann"%'`;
    expect(await found(tamper)).toEqual({ trades: 500_000n });
  });

  test("an amount in an audit entry, when several processes of the database compare the entries", async () => {
    const tamper = async (sql: Sql) => {
      await sql.unsafe("set local parallel_setup_cost = 0; set local parallel_tuple_cost = 0");
      await sql`update audit set payload = replace(payload, '"fee":"', '"fee":"1') where payload like '%"m1-ann"%'`;
      const plan = await sql`explain with ${trades(sql, { last: 20n })} select * from trades`;
      expect(JSON.stringify(plan)).toMatch(/Parallel Append/);
    };
    expect(Object.keys(await found(tamper))).toEqual(["trades"]);
  });

  test("every trade's entry, once each, wherever the ranges of the log end and a comparison begins", async () => {
    const tamper = async (sql: Sql) => {
      await sql`update audit set payload = '{}' where type = 'trade.executed'`;
      const seqs = (await sql<{ seq: string }[]>`select seq from trade order by seq`).map(({ seq }) => BigInt(seq));
      const places = async (among: Parameters<typeof trades>[1]) =>
        (await sql<{ place: string }[]>`with ${trades(sql, among)} select place from trades`)
          .map(({ place }) => place)
          .sort();
      const after = (seq: bigint) =>
        seqs
          .filter((each) => each > seq)
          .map((each) => `entry ${each}`)
          .sort();
      for (let seq = 0n; seq <= (seqs.at(-1) ?? 0n) + 1n; seq++) {
        // Each entry is once the last of the first range, of the second and of the third.
        for (const last of [seq, 2n * seq, 4n * seq]) expect(await places({ last })).toEqual(after(0n));
        expect(await places({ since: { seq } })).toEqual(after(seq));
      }
    };
    expect(Object.keys(await found(tamper))).toEqual(["hedges", "trades"]);
  });

  test("an unreadable audit entry is a difference like any other, and no error", async () => {
    const amount = async (id: string) => {
      const [row] = await live.owner`
        select amount_micro + fee_micro + abs(shares_micro) + coalesce(released_micro, 0) as n from trade where id = ${id}`;
      return BigInt(row?.n);
    };
    for (const text of ["gone", "", "{", '{"amount":', '{"amount":"x"}', "null", "[1]"]) {
      const tamper = (sql: Sql) => sql`update audit set payload = ${text} where payload like '%"m1-sale"%'`;
      expect(await found(tamper)).toEqual({ trades: await amount("m1-sale") });
    }
    const hedged = (sql: Sql) => sql`update audit set payload = 'gone' where payload like '%"hedged"%'`;
    expect(await found(hedged)).toEqual({ trades: await amount("hedged"), hedges: DOLLAR });
  });

  test("the time of an entry that moved money in or out", async () => {
    const tamper = (sql: Sql) => sql`
      update audit set ts = 'never' where seq in (select seq from transfer where debit = 'external:payments')`;
    expect(await found(tamper)).toEqual({ fundingDays: 400n * DOLLAR });
  });
});
