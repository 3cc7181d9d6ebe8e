import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { WORKS, type Work } from "../../src/ledger/unchained/leases.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { openPool, type Pool } from "../../src/postgres/pool.ts";
import { Leases } from "../../src/services/background/leases.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

let database: TestDatabase;
let owner: Sql;
beforeAll(async () => {
  database = await createTestDatabase();
  owner = connect(database.connection, { name: "owner", max: 1 });
});
afterAll(async () => {
  await owner.end({ timeout: 5 });
  await database.drop();
});

/** A server's leases, with the rights that a server has, and without a session of its own as behind PgBouncer. */
function server(holder: string, works: readonly Work[] = WORKS): Leases {
  const pool: Pool = openPool((max) => connect(database.server, { name: "leases", max, statementTimeoutMs: 10_000 }), {
    max: 1,
    deadlineMs: 15_000,
  });
  onTestFinished(() => pool.end({ timeout: 5 }));
  return new Leases({ pool, holder, works });
}

const held = (leases: Leases) => WORKS.filter((work) => leases.holds(work));
const holders = (leases: Leases) => Object.fromEntries(leases.status().map(({ work, holder }) => [work, holder]));
/** Moves this process's monotonic clock on. The database's stays. */
const wait = (ms: number) => vi.advanceTimersByTime(ms);
const fakeClock = () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
};

test("each work has one holder however many ask at once, and one that never sweeps never holds oracle", async () => {
  await owner`delete from lease`;
  const servers = ["a", "b", "c"].map((name) => server(name, name === "b" ? WORKS.slice(1) : WORKS));
  await Promise.all(servers.map((each) => each.round()));
  expect(servers.flatMap(held).sort()).toEqual([...WORKS].sort());
  const [a, b, c] = servers as [Leases, Leases, Leases];
  for (const each of servers) await each.round();
  expect(holders(a)).toEqual(holders(c));
  expect(a.status().map(({ work }) => work)).toEqual([...WORKS]);
  await Promise.all([a.stop(), c.stop()]);
  expect([held(a), held(c)]).toEqual([[], []]);
  await b.round();
  expect(held(b)).toEqual(WORKS.slice(1));
  expect(b.status().find(({ work }) => work === "oracle")).toEqual({
    work: "oracle",
    held: false,
    holder: null,
    until: null,
  });
});

test("a lease that its holder renews stays; one that runs out is another's, and the holder that slept knows it before", async () => {
  await owner`delete from lease`;
  fakeClock();
  const [sleeper, other] = [server("sleeper"), server("other")];
  await sleeper.round();
  await owner`update lease set until = until - 2500`;
  await sleeper.round();
  await other.round();
  expect([held(sleeper), held(other)]).toEqual([[...WORKS], []]);
  // The sleeper is stopped for longer than its lease, which it notices without asking anybody.
  wait(5000);
  await owner`update lease set until = until - 5000`;
  expect(held(sleeper)).toEqual([]);
  await other.round();
  await sleeper.round();
  expect([held(sleeper), held(other)]).toEqual([[], [...WORKS]]);
  expect(new Set(Object.values(holders(sleeper)))).toEqual(new Set(["other"]));
});

test("while nothing is due a round writes nothing, and a row left by a clock that was set back delays no server", async () => {
  await owner`delete from lease`;
  const [a, b] = [server("a"), server("b")];
  await a.round();
  const versions = () => owner`select work, xmin::text, until from lease order by work`.then((rows) => [...rows]);
  const before = await versions();
  await Promise.all([a.round(), b.round()]);
  expect(await versions()).toEqual(before);
  await owner`update lease set until = until + 3600000`;
  await b.round();
  expect(held(b)).toEqual([...WORKS]);
});

test("a server's login can neither delete leases nor name other work", async () => {
  const login = connect(database.server, { name: "login", max: 1 });
  onTestFinished(() => login.end({ timeout: 5 }));
  await expect(login`delete from lease`).rejects.toThrow("permission denied");
  await expect(login`insert into lease values ('money', 'x', 1)`).rejects.toThrow("lease_work_known");
  await expect(login`insert into lease values ('audit', repeat('x', 301), 1)`).rejects.toThrow("lease_holder_length");
});
