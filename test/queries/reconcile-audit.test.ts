import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sql } from "../../src/postgres/connect.ts";
import { foundIn, openLedger } from "../ledger/ledger.ts";
import { DOLLAR, type Live } from "../ledger/sequencer/live.ts";

let live: Live;
beforeAll(async () => {
  live = await openLedger();
});
afterAll(() => live.close());

const found = (tamper: (sql: Sql) => PromiseLike<unknown>) => foundIn(live, tamper);

describe("a log that was changed is recomputed up to there, and named", () => {
  const checksOf = async (tamper: (sql: Sql) => PromiseLike<unknown>) => Object.keys(await found(tamper)).sort();
  const last = async () => {
    const [row] = await live.owner`select max(seq)::text as seq from trade`;
    return String(row?.seq);
  };

  test("the tail cut off: the head row remembers how long it was", async () => {
    const seq = await last();
    expect(await checksOf((sql) => sql`delete from audit where seq >= ${seq}`)).toEqual(["record"]);
  });

  test("the tail cut off and the head row set back: the trade is still without its entry", async () => {
    const seq = await last();
    const tamper = async (sql: Sql) => {
      await sql`delete from audit where seq >= ${seq}`;
      await sql`update head set (seq, hash) = (select seq, hash from audit order by seq desc limit 1)`;
    };
    const checks = await checksOf(tamper);
    expect(checks).toEqual(expect.arrayContaining(["accounts", "decisions", "record", "settlements", "transfers"]));
  });

  test.each(["gone", "", "{", '{"amount":', '{"amount":"x"}', "null", "[1]"])(
    "an entry without a readable payload is a difference, and no error: %s",
    async (text) => {
      const tamper = (sql: Sql) => sql`update audit set payload = ${text} where payload like '%"m1-sale"%'`;
      expect(await found(tamper)).toEqual({ record: DOLLAR });
    },
  );

  test("an amount, or a time, in an entry", async () => {
    const amount = (sql: Sql) => sql`
      update audit set payload = replace(payload, '"amount":"7"', '"amount":"7.5"') where payload like '%"m1-ann"%'`;
    const time = (sql: Sql) => sql`update audit set ts = 'never' where type = 'wallet.credited'`;
    for (const tamper of [amount, time]) expect(await found(tamper)).toEqual({ record: DOLLAR });
  });
});
