import { afterAll, beforeAll, expect, test } from "vitest";
import { sealCheck } from "../../src/domain/audit/seal.ts";
import type { Need } from "../../src/engine/rows.ts";
import { type HeadReading, openJournal } from "../../src/ledger/journal.ts";
import { loadRows } from "../../src/ledger/load.ts";
import { config, DOLLAR, deposit, KEY, type Live, market, openLive, sale, trade, until } from "./sequencer/live.ts";

let live: Live;

beforeAll(async () => {
  live = await openLive({ processes: 2 });
  await live.run(config());
  for (const id of ["m0", "m1"]) await live.run(market(id));
  await Promise.all(["u0", "u1", "u2"].map((id) => live.run(deposit(id, 100n * DOLLAR, id))));
  await live.run(trade("m0", "u0", { side: "yes" }));
});
afterAll(() => live.close());

const journal = (process: number) => {
  const found = live.journals[process];
  if (!found) throw new Error(`There is no process ${process}`);
  return found;
};
const waiting = () =>
  until(
    live.owner,
    (sql) => sql`
      select 1 from pg_stat_activity
       where application_name = 'pmctl turn' and wait_event_type = 'Lock' and datname = current_database()`,
  );

test("a turn that ends is given to the process that waits, with the head as it stands then and what has changed", async () => {
  const first = await journal(0).takeTurn(null);
  const second = journal(1).takeTurn(first.reading.head);
  await waiting();
  await live.run(trade("m0", "u1"));
  first.end();
  const { reading, touched, end } = await second;
  end();
  expect(touched).toEqual(await journal(0).loadTouched(first.reading.head));
  expect(touched?.map(({ key }) => key)).toContain("wallet:u1");
  expect(reading.head).toEqual((await journal(0).readHead()).head);
  expect(reading.head.seq).toBe(first.reading.head.seq + 1n);
});

test("a turn is given, and tells what has changed, on a connection where one statement waits for the other", async () => {
  const { host, port, user, database } = live.database.server;
  const url = `postgresql://${user}@${encodeURIComponent(host)}:${port}/${database}`;
  const pooled = openJournal({ url, pooled: true }, { restricted: false, isSealed: sealCheck([KEY]) });
  try {
    const { head } = await pooled.readHead();
    await live.run(trade("m1", "u0"));
    const { reading, touched, end } = await pooled.takeTurn(head);
    end();
    expect(reading.head.seq).toBe(head.seq + 1n);
    expect(touched).toEqual(await journal(0).loadTouched(head));
    (await pooled.takeTurn(reading.head)).end();
  } finally {
    await pooled.close();
  }
});

test("the turn of a process whose connection is gone is free at once", async () => {
  const gone = await journal(0).takeTurn(null);
  const next = journal(1).takeTurn(null);
  await waiting();
  await live.owner`
    select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'pmctl turn' and state = 'idle in transaction' and datname = current_database()`;
  (await next).end();
  gone.end();
  (await journal(0).takeTurn(null)).end();
});

test("what trades changed is found, as it stands, and nothing else", async () => {
  const before = await journal(0).readHead();
  await live.run(trade("m1", "u1", { side: "no" }), 1);
  await live.run(sale("m0", "u0", { side: "yes", sharesMicro: DOLLAR / 2n }), 1);
  const touched = await touchedSince(before);
  const names = touched?.map(({ table, key }) => `${table} ${key}`).sort();
  expect(names).toEqual([
    ...["account escrow:m0", "account escrow:m1", "account fees", "account wallet:u0", "account wallet:u1"],
    ...["marketState m0", "marketState m1", "position no:m1:u1", "position yes:m0:u0"],
  ]);
  const needs = (touched ?? []).map(({ table, key }): Need => {
    return table === "position" ? { table: "portfolio", key: key.split(":")[2] ?? "" } : { table, key };
  });
  const loaded = await loadRows(live.owner, needs, sealCheck([KEY]));
  for (const row of touched ?? []) expect(loaded).toContainEqual(row);
});

test("what follows anything but trades, or another log, is not told: all is loaded anew", async () => {
  const before = await journal(0).readHead();
  await live.run(trade("m1", "u1"), 1);
  const { head } = before;
  expect(await touchedSince({ ...before, head: { ...head, hash: "0".repeat(64) } })).toBeNull();
  expect(await touchedSince({ ...before, head: { ...head, seq: head.seq + 1n } })).toBeNull();
  expect(await touchedSince(before)).not.toBeNull();
  await live.run(deposit("u2", DOLLAR, "more"), 1);
  expect(await touchedSince(before)).toBeNull();
});

function touchedSince({ head }: HeadReading) {
  return journal(0).loadTouched(head);
}
