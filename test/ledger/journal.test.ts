import postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import type { Command } from "../../src/engine/commands.ts";
import type { Batch, Head } from "../../src/ledger/commit.ts";
import { commitAnswer, type Journal, openJournal } from "../../src/ledger/journal.ts";
import { prepareBatch } from "../../src/ledger/sequencer/batch.ts";
import {
  ConnectionLost,
  classify,
  connect,
  type Sql,
  StatementFailed,
  Unconfirmed,
} from "../../src/postgres/connect.ts";
import { World } from "../engine/world.ts";
import { DOLLAR, deposit, dump, KEY, type Live, openLive, until } from "./sequencer/live.ts";

let live: Live;
let one: Journal;
let two: Journal;

beforeEach(async () => {
  live = await openLive({ processes: 2 });
  [one, two] = live.journals as [Journal, Journal];
  return () => live.close();
});

let payments = 0;

/** A deposit for a new user, on top of the head: it needs no existing row. */
function batchOn(head: Head, name = `new${++payments}`): Batch {
  const command: Command = { ...deposit(name, DOLLAR, name), provider: name } as Command;
  const submissions = [{ command, actor: "test" }];
  const { batch } = prepareBatch(new World(), submissions, { head, now: 1_800_000_000_000, key: KEY });
  if (!batch) throw new Error("Nothing to write");
  return batch;
}

/** Holds the head row on a connection of its own, until told how to end. */
async function holdHead(): Promise<{ sql: Sql; end: (how: "commit" | "rollback") => Promise<void> }> {
  const sql = connect(live.database.connection, { name: "holder", max: 1 });
  await sql.unsafe("begin");
  await sql`select 1 from head for update`;
  return {
    sql,
    end: async (how) => {
      await sql.unsafe(how);
      await sql.end({ timeout: 5 });
    },
  };
}

const moveHead = (sql: Sql) => sql`update head set seq = seq + 1, hash = repeat('f', 64)`;

const waitingForLock = () =>
  until(
    live.owner,
    (sql) => sql`
    select 1 from pg_stat_activity
     where application_name = 'pmctl writer' and wait_event_type = 'Lock' and datname = current_database()`,
  );

const terminateWriters = () => live.owner`
  select pg_terminate_backend(pid, 5000) from pg_stat_activity
   where application_name = 'pmctl writer' and datname = current_database()`;

describe("readHead", () => {
  test("tells where the chain ends, and the database's clock", async () => {
    const clock = async () => {
      const [row] = await live.owner`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
      return Number(row?.now);
    };
    const before = await clock();
    const { head, now } = await one.readHead();
    expect(head).toEqual({ seq: 0n, hash: "0".repeat(64), epoch: 0n, ts: 0 });
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(await clock());
  });
});

describe("a statement that waits behind another writer", () => {
  test("finds the head moved when the other writer commits, and writes nothing", async () => {
    const other = await holdHead();
    await moveHead(other.sql);
    const { head } = await two.readHead();
    const commit = one.commit(batchOn(head));
    await waitingForLock();
    await other.end("commit");
    expect(await commit).toMatchObject({ swapped: false });
    expect(await live.owner`select 1 from transfer`).toHaveLength(0);
  });

  test("goes through when the other writer rolls back", async () => {
    const { head } = await two.readHead();
    const other = await holdHead();
    await moveHead(other.sql);
    const commit = one.commit(batchOn(head));
    await waitingForLock();
    await other.end("rollback");
    expect(await commit).toMatchObject({ swapped: true });
    expect(await live.owner`select 1 from transfer`).toHaveLength(1);
  });
});

describe("the fence", () => {
  test("waits for the statement under way, and tells that it committed", async () => {
    const other = await holdHead();
    await moveHead(other.sql);
    let told = false;
    const fence = one.fence().finally(() => {
      told = true;
    });
    await waitingForLock();
    expect(told).toBe(false);
    await other.end("commit");
    expect((await fence).head).toMatchObject({ seq: 1n, hash: "f".repeat(64), epoch: 1n });
  });

  test("waits for the statement under way, and tells that it rolled back", async () => {
    const other = await holdHead();
    await moveHead(other.sql);
    const fence = one.fence();
    await waitingForLock();
    await other.end("rollback");
    expect((await fence).head).toMatchObject({ seq: 0n, hash: "0".repeat(64), epoch: 1n });
  });

  test("shuts out every statement prepared before it, even one that is waiting already", async () => {
    const { head } = await one.readHead();
    const other = await holdHead();
    const late = one.commit(batchOn(head));
    await waitingForLock();
    // A fence that gets there first, as far as the waiting statement can tell.
    await other.sql`update head set epoch = epoch + 1`;
    await other.end("commit");
    expect(await late).toMatchObject({ swapped: false });
    expect(await one.commit(batchOn(head))).toMatchObject({ swapped: false });
    const { head: fenced } = await two.fence();
    expect(fenced).toEqual({ ...head, epoch: 2n });
    expect(await one.commit(batchOn(fenced))).toMatchObject({ swapped: true });
  });

  test("contains tells exactly whether an entry is in the chain", async () => {
    const batch = batchOn((await one.readHead()).head);
    expect(await one.contains(batch.next)).toBe(false);
    await one.commit(batch);
    expect(await two.contains(batch.next)).toBe(true);
    expect(await two.contains({ ...batch.next, hash: "0".repeat(64) })).toBe(false);
  });
});

describe("exclusively", () => {
  test("keeps every other writer out until it ends", async () => {
    let second: Promise<{ swapped: boolean }> | undefined;
    const first = await one.exclusively(async ({ head }) => {
      second = two.commit(batchOn(head));
      await waitingForLock();
      return one.commit(batchOn(head));
    });
    expect([first.swapped, (await second)?.swapped]).toEqual([true, false]);
  });

  test("undoes everything when its work fails, and passes the error on", async () => {
    const before = await dump(live.owner);
    const failure = one.exclusively(async ({ head }) => {
      await one.commit(batchOn(head));
      throw new Error("no");
    });
    await expect(failure).rejects.toThrow("no");
    expect(await dump(live.owner)).toBe(before);
    const open = await live.owner`
      select 1 from pg_stat_activity
       where application_name = 'pmctl writer' and datname = current_database() and state like 'idle in transaction%'`;
    expect(open).toHaveLength(0);
    expect(await two.commit(batchOn((await two.readHead()).head))).toMatchObject({ swapped: true });
  });

  test("a connection that dies before the commit leaves nothing behind, whatever the commit reports", async () => {
    const before = await dump(live.owner);
    let batch: Batch | undefined;
    const ended = await one
      .exclusively(async ({ head }) => {
        batch = batchOn(head);
        await one.commit(batch);
        await terminateWriters();
      })
      .then(
        () => "reported success",
        (error: unknown) => error,
      );
    if (ended !== "reported success") expect(ended).toBeInstanceOf(Unconfirmed);
    expect(await one.contains(batch?.next ?? { seq: 0n, hash: "" })).toBe(false);
    expect(await dump(live.owner)).toBe(before);
  });
});

describe("the journal's errors are StatementFailed or ConnectionLost", () => {
  test.each([
    ["ERROR", "23505", "a constraint", StatementFailed],
    ["ERROR", "57014", "the statement's time is up", StatementFailed],
    ["ERROR", "53100", "the disk is full", StatementFailed],
    ["ERROR", "40003", "completion unknown, says the database itself", ConnectionLost],
    ["ERROR", "08006", "a connection failure behind a pooler", ConnectionLost],
    ["ERROR", "57P01", "shutdown, reported by a pooler", ConnectionLost],
    ["FATAL", "25P03", "idle in a transaction for too long", ConnectionLost],
    ["PANIC", "XX000", "the server crashed", ConnectionLost],
  ])("%s %s, %s", (severity, code, _what, kind) => {
    const told = Object.assign(Object.create(postgres.PostgresError.prototype), { severity, code, message: "told" });
    expect(classify(told)).toBeInstanceOf(kind);
  });

  test("a statement that the database refused has not happened: StatementFailed", async () => {
    const batch = batchOn((await one.readHead()).head, "a\0b");
    await expect(one.commit(batch)).rejects.toBeInstanceOf(StatementFailed);
  });

  test("a connection that dies under a waiting statement leaves its outcome unknown: ConnectionLost", async () => {
    const { head } = await one.readHead();
    const other = await holdHead();
    const commit = one.commit(batchOn(head)).catch((error: unknown) => error);
    await waitingForLock();
    await terminateWriters();
    expect(await commit).toBeInstanceOf(ConnectionLost);
    await other.end("rollback");
    expect((await two.readHead()).head).toEqual(head);
  });

  test("a database that is not there is ConnectionLost too", async () => {
    const nowhere = openJournal({ ...live.database.connection, port: 1 }, { restricted: false, isSealed: () => true });
    await expect(nowhere.readHead()).rejects.toBeInstanceOf(ConnectionLost);
    await nowhere.close();
  });

  test("after a lost connection the journal works again by itself", async () => {
    await one.readHead();
    await terminateWriters();
    const again = async (): Promise<unknown> => one.readHead().catch(again);
    await expect(again()).resolves.toMatchObject({ head: { seq: 0n } });
  });
});

describe("the answer to a commit", () => {
  test.each([
    [{ swapped: 1, now: 5 }, true],
    [{ swapped: "1", now: "5" }, true],
    [{ swapped: 0, now: 5 }, false],
    [{ swapped: "0", now: 5 }, false],
  ])("%j is compared by value", (row, swapped) => {
    expect(commitAnswer([row])).toEqual({ swapped, now: 5 });
  });

  test.each([
    [[]],
    [
      [
        { swapped: 1, now: 5 },
        { swapped: 1, now: 5 },
      ],
    ],
    [[{ swapped: null, now: 5 }]],
    [[{ swapped: true, now: 5 }]],
    [[{ swapped: 2, now: 5 }]],
    [[{ swapped: "", now: 5 }]],
    [[{ swapped: 1, now: null }]],
    [[{ swapped: 1 }]],
    [[{ now: 5 }]],
  ])("%j tells nothing", (rows) => {
    expect(() => commitAnswer(rows)).toThrow(Unconfirmed);
  });

  test("that came with a warning is not believed, and the connection goes on", async () => {
    const reading = await one.readHead();
    const warn =
      "create function warn() returns trigger language plpgsql as $$ begin raise warning 'alone'; return new; end $$";
    await live.owner.unsafe(warn);
    await live.owner.unsafe(
      "create constraint trigger warned after insert on audit deferrable initially deferred for each row execute function warn()",
    );
    const batch = batchOn(reading.head);
    await expect(one.commit(batch)).rejects.toThrow("The database warned: alone");
    expect(await one.contains(batch.next)).toBe(true);
    expect((await one.fence()).head.seq).toBe(batch.next.seq);
    await expect(one.exclusively(async ({ head }) => one.commit(batchOn(head)))).rejects.toBeInstanceOf(Unconfirmed);
  });

  test("is heard although the database is told to keep its warnings to itself", async () => {
    const { database } = live.database.connection;
    await live.owner.unsafe(`alter database ${database} set client_min_messages = error`);
    const journal = openJournal(live.database.connection, { restricted: false, isSealed: () => true });
    await journal.readHead();
    const [held] =
      await live.owner`select 1 from pg_db_role_setting where setconfig::text like '%client_min_messages%'`;
    expect(held).toBeDefined();
    await live.owner.unsafe(
      "create function warn() returns trigger language plpgsql as $$ begin raise warning 'alone'; return new; end $$",
    );
    await live.owner.unsafe("create trigger warned before update on head for each row execute function warn()");
    await expect(journal.confirmHead()).rejects.toBeInstanceOf(Unconfirmed);
    await journal.close();
  });
});
