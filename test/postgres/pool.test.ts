import { readdirSync, readFileSync } from "node:fs";
import { connect as connectTo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { countRequests } from "../../src/ledger/unchained/request-count.ts";
import { connect, type ReadSql, type Sql } from "../../src/postgres/connect.ts";
import { longReads } from "../../src/postgres/long-reads.ts";
import { OutcomeUnknown, openPool, type Pool } from "../../src/postgres/pool.ts";
import { NotConnected } from "../../src/postgres/route/dial.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

let database: TestDatabase;
let admin: Sql;
beforeAll(async () => {
  database = await createTestDatabase();
  admin = connect(database.connection, { name: "admin", max: 2 });
  await admin`create table tally (id int primary key, n int not null)`;
});
afterAll(async () => {
  await admin.end({ timeout: 5 });
  await database.drop();
});

const DEADLINE_MS = 20_000;
/** A victim that is found among the sessions by its sleep. */
const SLEEP = "pg_sleep(30)";

let pool: Pool;
beforeEach(async () => {
  pool = openPool((max) => connect(database.connection, { name: "victim", max }), {
    max: 2,
    snapshots: 2,
    deadlineMs: DEADLINE_MS,
  });
  await admin`truncate tally`;
  await admin`insert into tally (id, n) values (1, 0), (2, 0)`;
});
afterEach(() => pool.end({ timeout: 1 }));

/** Ends the sessions of the pool, those that are in the middle of such a statement only when one is named. */
async function kill(statement = ""): Promise<number> {
  const rows = await admin`
    select pg_terminate_backend(pid, ${statement === "" ? 0 : 10_000}) from pg_stat_activity
     where application_name = 'pmctl victim' and datname = current_database()
       and (${statement} = '' or (state = 'active' and query like ${`%${statement}%`}))`;
  return rows.length;
}

/** Ends the session that runs the statement, once it does. */
async function killDuring(statement: string): Promise<void> {
  await vi.waitFor(async () => expect(await kill(statement)).toBe(1), { timeout: DEADLINE_MS, interval: 10 });
}

/** The database at the end of a TCP connection, which an answer of the database can cut. */
async function distant(cuts: (answer: Buffer) => boolean = () => false) {
  const path = join(database.connection.host, `.s.PGSQL.${database.connection.port}`);
  const clients = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connectTo(path);
    clients.add(client);
    for (const socket of [client, server]) socket.on("error", () => {});
    client.pipe(server);
    server.on("data", (bytes) => (cuts(bytes) ? client.destroy() : client.write(bytes)));
    server.on("close", () => client.destroy());
    client.on("close", () => {
      clients.delete(client);
      server.destroy();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as { port: number };
  return {
    connection: { ...database.connection, host: "127.0.0.1", port },
    reset: () => {
      for (const client of clients) client.resetAndDestroy();
    },
    close: () => {
      for (const client of clients) client.destroy();
      proxy.close();
    },
  };
}

const one = (sql: ReadSql) => sql`select 1 as one`;
const add = (sql: Sql) => sql`update tally set n = n + 1`;
const tallied = async () => (await admin`select sum(n)::int as n from tally`)[0]?.n;

/** Two statements, which agree as long as both are of one moment. */
async function both(sql: ReadSql, between: () => Promise<unknown> = async () => {}): Promise<[number, number]> {
  const [first] = await sql`select n from tally where id = 1`;
  await between();
  const [second] = await sql`select n from tally where id = 2`;
  return [first?.n, second?.n];
}

test("long reads wait for each other, and other snapshots do not wait for them", async () => {
  const long = longReads(pool);
  const held = Promise.withResolvers<void>();
  let isOver = false;
  const first = long.snapshot(async () => {
    await held.promise;
    isOver = true;
  });
  const second = long.snapshot(async () => isOver);
  expect(await pool.snapshot((sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  held.resolve();
  expect(await second).toBe(true);
  await first;
});

describe("a read", () => {
  test("is answered when its connection has just ended, in each of a hundred runs", async () => {
    for (let round = 0; round < 100; round++) {
      await pool.read(one);
      const [, ...answers] = await Promise.all([kill(), pool.read(one), pool.read(one), pool.read(one)]);
      expect(answers).toEqual([[{ one: 1 }], [{ one: 1 }], [{ one: 1 }]]);
    }
  });

  test("is asked once more when its connection ends during it, and not a third time", async () => {
    let asked = 0;
    const sleeping = pool.read((sql) => {
      asked += 1;
      return asked === 1 ? sql.unsafe(`select ${SLEEP}`) : sql`select 1 as one`;
    });
    await killDuring(SLEEP);
    expect(await sleeping).toEqual([{ one: 1 }]);
    const hopeless = pool.read((sql) => sql.unsafe(`select ${SLEEP}`)).catch((error: Error) => error);
    await killDuring(SLEEP);
    await killDuring(SLEEP);
    expect(await hopeless).toBeInstanceOf(Error);
  });

  test("passes on the database's refusal and keeps its connection", async () => {
    const pid = (sql: ReadSql) => sql`select pg_backend_pid() as pid`;
    const before = await pool.read(pid);
    await expect(pool.read((sql) => sql`select 1 / 0`)).rejects.toThrow("division by zero");
    expect(await pool.read(pid)).toEqual(before);
  });
});

describe("a write", () => {
  test("whose connection ends during it runs once and says that its outcome is not known", async () => {
    const slow = `with slow as (select ${SLEEP}) update tally set n = n + 1 from slow`;
    const told = pool.write((sql) => sql.unsafe(slow)).catch((error: Error) => error);
    await killDuring(SLEEP);
    expect(await told).toBeInstanceOf(OutcomeUnknown);
    expect(await tallied()).toBe(0);
    await pool.write(add);
    expect(await tallied()).toBe(2);
  });

  test("that was committed while its answer was lost is not sent again", async () => {
    let isMute = false;
    // The answer is heard here and no further: by then the statement is committed.
    const { connection, close } = await distant((bytes) => isMute && bytes.includes("UPDATE 2"));
    const far = openPool((max) => connect(connection, { name: "far", max }), { max: 1, deadlineMs: DEADLINE_MS });
    try {
      await far.write(add);
      expect(await tallied()).toBe(2);
      isMute = true;
      await expect(far.write(add)).rejects.toBeInstanceOf(OutcomeUnknown);
      expect(await tallied()).toBe(4);
      isMute = false;
      await far.write(add);
      expect(await tallied()).toBe(6);
    } finally {
      await far.end({ timeout: 1 });
      close();
    }
  });

  test("runs at most once, killed at any moment, and its caller hears OutcomeUnknown unless it is known to have run", {
    timeout: 120_000,
  }, async () => {
    let answered = 0;
    let unknown = 0;
    for (let round = 0; round < 50; round++) {
      const tell = async () => {
        try {
          await pool.write((sql) => sql`update tally set n = n + 1 where id = 1`);
          answered += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(OutcomeUnknown);
          unknown += 1;
        }
      };
      await Promise.all([tell(), tell(), kill(), tell(), tell()]);
    }
    const count = await tallied();
    expect(count).toBeGreaterThanOrEqual(answered);
    expect(count).toBeLessThanOrEqual(answered + unknown);
    expect(answered + unknown).toBe(200);
  });

  test("that could not be sent at all fails with the driver's own error", async () => {
    const nowhere = { ...database.connection, host: "/tmp/pmctl-no-such-directory" };
    const away = openPool((max) => connect(nowhere, { name: "away", max }), { max: 1, deadlineMs: DEADLINE_MS });
    const error = await away.write(add).catch((reason: Error) => reason);
    expect(error).not.toBeInstanceOf(OutcomeUnknown);
    expect(error).toMatchObject({ code: "ENOENT" });
    await away.end({ timeout: 1 });
  });
});

describe("a snapshot", () => {
  const moveOn = () => admin`update tally set n = n + 1`;

  test("answers from one moment, whatever is committed between its questions", async () => {
    expect(await pool.snapshot((sql) => both(sql, moveOn))).toEqual([0, 0]);
    expect(await pool.snapshot((sql) => both(sql, moveOn))).toEqual([1, 1]);
    expect(await pool.read((sql) => both(sql, moveOn))).toEqual([2, 3]);
  });

  test.each<[string, (moved: () => Promise<unknown>) => Promise<unknown>]>([
    ["before its first question", async () => kill()],
    [
      "between two questions",
      async (moved) => {
        await kill();
        await moved();
      },
    ],
  ])("is asked again as a whole when its connection ends %s", async (_, end) => {
    let asked = 0;
    const moment = await pool.snapshot((sql) => {
      asked += 1;
      return both(sql, async () => (asked === 1 ? end(moveOn) : undefined));
    });
    expect(moment[0]).toBe(moment[1]);
    expect(asked).toBe(2);
  });

  test("is asked again as a whole when its connection ends during a question", async () => {
    let asked = 0;
    const moment = pool.snapshot(async (sql) => {
      asked += 1;
      return both(sql, async () => {
        if (asked > 1) return;
        await moveOn();
        await sql.unsafe(`select ${SLEEP}`);
      });
    });
    await killDuring(SLEEP);
    expect(await moment).toEqual([1, 1]);
    expect(asked).toBe(2);
  });

  test("is asked again when its connection is reset, however soon after that its next question comes", async () => {
    const far = await distant();
    const resets = openPool((max) => connect(far.connection, { name: "resets", max }), { max: 1, deadlineMs: 600_000 });
    try {
      for (let turns = 0; turns < 8; turns++) {
        let asked = 0;
        const moment = resets.snapshot((sql) => {
          asked += 1;
          return both(sql, async () => {
            if (asked > 1) return;
            far.reset();
            for (let passed = 0; passed < turns; passed++) await turn();
          });
        });
        expect(await moment).toEqual([0, 0]);
        expect(asked).toBe(2);
      }
    } finally {
      await resets.end({ timeout: 0 });
      far.close();
    }
  });

  test("never mixes two moments, killed at any moment", { timeout: 120_000 }, async () => {
    let over = false;
    const writing = (async () => {
      while (!over) await moveOn();
    })();
    for (let round = 0; round < 50; round++) {
      const moments = Array.from({ length: 4 }, () => pool.snapshot((sql) => both(sql)).catch(() => [0, 0]));
      const together = pool.snapshot((sql) =>
        Promise.all([sql`select n from tally where id = 1`, sql`select n from tally where id = 2`]),
      );
      const [[first], [second]] = await together.catch(() => [[{ n: 0 }], [{ n: 0 }]]);
      expect(first?.n).toBe(second?.n);
      if (round % 2 === 0) await kill();
      for (const [a, b] of await Promise.all(moments)) expect(a).toBe(b);
    }
    over = true;
    await writing;
  });

  test("cannot change anything, ends when its question fails, and the next snapshot has its own moment", async () => {
    await expect(pool.snapshot((sql) => sql`update tally set n = 9`)).rejects.toThrow("read-only transaction");
    const ours = new TypeError("ours");
    await expect(pool.snapshot((sql) => both(sql).then(() => Promise.reject(ours)))).rejects.toBe(ours);
    await moveOn();
    for (let place = 0; place < 3; place++) expect(await pool.snapshot((sql) => both(sql))).toEqual([1, 1]);
    const [open] = await admin`
      select count(*)::int as n from pg_stat_activity
       where application_name = 'pmctl victim' and datname = current_database() and state like 'idle in%'`;
    expect(open?.n).toBe(0);
  });

  test("waits for its turn while reads go on", async () => {
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    let begun = 0;
    const held = ["a", "b"].map((name) =>
      pool.snapshot(async (sql) => {
        await sql`select 1`;
        begun += 1;
        await gate.promise;
        order.push(name);
      }),
    );
    const later = pool.snapshot(async () => order.push("later"));
    while (begun < 2) await pool.read(one);
    for (let count = 0; count < 20; count++) await pool.read(one);
    expect(order).toEqual([]);
    gate.resolve();
    await Promise.all([...held, later]);
    expect(order.at(-1)).toBe("later");
  });
});

test.each([
  [false, "5s"],
  [true, "1min"],
])("a session that checks the whole log (%s) may compute between two reads for %s", async (analytical, longest) => {
  const sql = connect(database.connection, { name: "session", max: 1, analytical });
  onTestFinished(() => sql.end({ timeout: 1 }));
  expect(await sql`show idle_in_transaction_session_timeout`).toEqual([
    { idle_in_transaction_session_timeout: longest },
  ]);
});

describe("a server that closes each connection before the login", () => {
  test.each(["host", "url"] as const)(
    "fails a query at once, reached by its %s, as one that was never sent",
    async (by) => {
      const closing = createServer((socket) => socket.on("error", () => {}).end());
      await new Promise<void>((resolve) => closing.listen(0, "127.0.0.1", resolve));
      const { port } = closing.address() as { port: number };
      const url = `postgres://user:word@127.0.0.1:${port}/name?sslmode=disable`;
      const connection = by === "url" ? { url } : { ...database.connection, host: "127.0.0.1", port };
      const closed = openPool((max) => connect(connection, { name: "closed", max }), { max: 1, deadlineMs: 600_000 });
      const failure = await closed.write(add).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(NotConnected);
      await closed.end({ timeout: 0 });
      closing.close();
    },
  );
});

describe("a pool that has ended", () => {
  test("opens no client again, neither for a question that its end cut off nor for later ones", async () => {
    let opened = 0;
    const ending = openPool(
      (max) => {
        opened += 1;
        return connect(database.connection, { name: "ending", max });
      },
      { max: 1, deadlineMs: DEADLINE_MS },
    );
    await ending.read(one);
    const cutOff = ending.read((sql) => sql.unsafe(`select ${SLEEP}`)).catch((error: Error) => error);
    await ending.end({ timeout: 0 });
    expect(await cutOff).toBeInstanceOf(Error);
    for (const late of [ending.read(one), ending.snapshot(one), ending.write(one)])
      await expect(late).rejects.toMatchObject({ code: "CONNECTION_ENDED" });
    expect(opened).toBe(2);
  });

  test("has answered what waited for a connection, and leaves no connection behind", async () => {
    const answers = Array.from({ length: 300 }, () => pool.read(one));
    await pool.end({ timeout: 5 });
    for (const answer of await Promise.all(answers)) expect(answer).toEqual([{ one: 1 }]);
    await vi.waitFor(async () => {
      const sessions = await admin`
        select pid from pg_stat_activity where application_name = 'pmctl victim' and datname = current_database()`;
      expect(sessions).toHaveLength(0);
    }, 60_000);
  });
});

describe("the types of reads", () => {
  test("let nothing that changes rows be called where it may run twice", () => {
    const never = () => {
      // @ts-expect-error a write is not a question
      void pool.read((sql) => countRequests(sql, []));
      // @ts-expect-error nor part of a snapshot
      void pool.snapshot((sql) => countRequests(sql, []));
      // @ts-expect-error and a question cannot become a client
      const client: (sql: ReadSql) => Sql = (sql) => sql;
      // @ts-expect-error nor begin a transaction of its own
      void pool.read((sql) => sql.begin(async () => 1));
      return client;
    };
    expect(never).toBeTypeOf("function");
    void (() => pool.write((sql) => countRequests(sql, [])));
    void (() => pool.write(one));
  });

  /** The compiler trusts the parameter's type; this holds the parameter to the statement. */
  test("hold at run time: no function that takes a ReadSql changes or locks a row", () => {
    const folder = new URL("../../src/", import.meta.url).pathname;
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    const functions = files.flatMap((name) =>
      readFileSync(join(folder, name), "utf8")
        .split(/\n(?=(?:export )?(?:async )?(?:function|const) )/)
        .map((text) => ({ name, text })),
    );
    const asking = functions.filter(({ text }) => /\(\s*\w+: ReadSql/.test(text.slice(0, 300)));
    expect(asking.length).toBeGreaterThan(60);
    const changing = /sql(?:<[^`]*>)?`[^`]*\b(?:insert into|update \w+|delete from|truncate|for update|for share)\b/;
    expect(
      asking.filter(({ text }) => changing.test(text)).map(({ name, text }) => `${name}: ${text.slice(0, 60)}`),
    ).toEqual([]);
  });
});
