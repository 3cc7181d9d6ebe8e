import { beforeEach, describe, expect, test } from "vitest";
import { Client } from "../../src/postgres/client.ts";
import { ConnectionLost, connect, type Sql, StatementFailed } from "../../src/postgres/connect.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

let database: TestDatabase;
let admin: Sql;
let opened = 0;

beforeEach(async () => {
  database = await createTestDatabase();
  admin = connect(database.connection, { name: "admin", max: 1 });
  opened = 0;
  return async () => {
    await admin.end({ timeout: 5 });
    await database.drop();
  };
});

function clientWith(deadlineMs: number): Client {
  return new Client(() => {
    opened += 1;
    return connect(database.connection, { name: "victim", max: 1 });
  }, deadlineMs);
}

const one = (sql: Sql) => sql`select 1 as one`;
/** Async, because the driver starts a query only when its result is asked for. */
async function kill(): Promise<void> {
  await admin`
    select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'pmctl victim' and datname = current_database()`;
}

describe("a client of the journal", () => {
  test("answers what the database answers, and keeps its connection over a refused statement", async () => {
    const client = clientWith(5000);
    expect(await client.use(one)).toEqual([{ one: 1 }]);
    await expect(client.use((sql) => sql`select 1 / 0`)).rejects.toBeInstanceOf(StatementFailed);
    expect(await client.use(one)).toEqual([{ one: 1 }]);
    expect(opened).toBe(1);
    await client.close();
  });

  /** The driver alone hangs here for ever in some rounds, and rejects the statement in others. */
  test("a statement sent at the moment that a connection is lost is answered, in each of a hundred runs", {
    timeout: 600_000,
  }, async () => {
    const client = clientWith(5000);
    for (let round = 0; round < 100; round++) {
      await client.use(one);
      const killed = kill();
      // Statements go out until one meets the end of the connection; its caller asks again at once.
      const untilLost = async (): Promise<unknown> => client.use(one).then(untilLost);
      const lost = await untilLost().catch(async (error: unknown) => {
        expect(await client.use(one)).toEqual([{ one: 1 }]);
        return error;
      });
      expect(lost).toBeInstanceOf(ConnectionLost);
      await killed;
    }
    await client.close();
  });

  test("a statement that stays unanswered counts as lost at the deadline, and the next one is answered", async () => {
    // The next one has as long, a new connection included.
    const client = clientWith(2000);
    await expect(client.use((sql) => sql`select pg_sleep(20)`)).rejects.toBeInstanceOf(ConnectionLost);
    expect(await client.use(one)).toEqual([{ one: 1 }]);
    expect(opened).toBe(2);
    await client.close();
  });

  test("an error thrown by the caller's code passes unchanged and closes no connection", async () => {
    const client = clientWith(5000);
    const bug = new TypeError("ours");
    await expect(client.use(() => Promise.reject(bug))).rejects.toBe(bug);
    expect(await client.use(one)).toEqual([{ one: 1 }]);
    expect(opened).toBe(1);
    await client.close();
  });

  test("opens nothing again once it was closed, neither for what was cut off by then nor for what is asked later", async () => {
    const client = clientWith(5000);
    await client.use(one);
    const cutOff = client.use((sql) => sql`select pg_sleep(20)`).catch((error: unknown) => error);
    const closed = client.close();
    await kill();
    await closed;
    expect(await cutOff).toBeInstanceOf(ConnectionLost);
    await expect(client.use(one)).rejects.toBeInstanceOf(ConnectionLost);
    client.renew();
    expect(opened).toBe(1);
  });
});
