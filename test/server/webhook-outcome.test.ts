import { createHmac } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { WEBHOOK_SECRET } from "./support/harness.ts";

const tenant = tenantOfTests();
let elsewhere: Sql;
beforeAll(async () => {
  const { connection } = tenant.backend.database;
  elsewhere = connect({ ...connection, database: "postgres" }, { name: "test outage", max: 1 });
});
afterAll(async () => {
  await elsewhere.end({ timeout: 5 });
});

const deposit = (txRef: string, amountUsd: number) => {
  const body = JSON.stringify({ event: "deposit.completed", userId: "usr_1", amountUsd, txRef });
  return fetch(`${tenant.url}/payments/inbound/acme`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-signature": createHmac("sha256", WEBHOOK_SECRET).update(body).digest("hex"),
    },
    body,
  });
};

/** Ends every connection to the database, a waiting one before the one that it waits for, and lets no new one in. */
async function takeAway(database: string): Promise<void> {
  await elsewhere`alter database ${elsewhere(database)} with allow_connections false`;
  await elsewhere`
    select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${database} and wait_event_type = 'Lock'`;
  // The server's own vacuum has no login, and only a superuser may end it.
  await elsewhere`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database} and usename is not null`;
}

test("a webhook whose commit is not known is answered with 5xx and never with 200, and its repeat counts once", async () => {
  expect((await deposit("before", 1)).status).toBe(200);
  const { database } = tenant.backend.database.connection;
  // The commit waits for the head row when its connection is killed.
  const holder = connect(tenant.backend.database.connection, { name: "test holder", max: 1 });
  const locked = Promise.withResolvers<void>();
  const held = holder.begin(async (sql) => {
    await sql`set local idle_in_transaction_session_timeout = 0`;
    await sql`select 1 from head where id = 1 for update`;
    locked.resolve();
    await delay(600_000, undefined, { ref: false });
  });
  held.catch(() => {});
  // Sent before, the deposit might be committed already, and then it is the holder that waits.
  await locked.promise;
  const waiting = async () =>
    (
      await elsewhere`
      select 1
        from pg_stat_activity
       where datname = ${database} and application_name = 'pmctl writer' and wait_event_type = 'Lock'`
    ).length;
  const answer = deposit("torn", 10);
  while ((await waiting()) === 0) await delay(20);
  await takeAway(database);
  const { status } = await answer;
  expect(status).toBeGreaterThanOrEqual(500);
  await elsewhere`alter database ${elsewhere(database)} with allow_connections true`;
  await holder.end({ timeout: 0 });
  // As the provider does: again until a server confirms that it has arrived.
  let repeats = 0;
  while ((await deposit("torn", 10)).status !== 200 && repeats < 2000) {
    repeats += 1;
    await delay(50);
  }
  expect((await deposit("torn", 10)).status).toBe(200);
  expect(await tenant.balance("wallet:usr_1")).toBe(11_000_000n);
  expect(await tenant.isSound()).toBe(true);
});
