import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { postWebhook } from "../support/operator.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, userToken, WEBHOOK_SECRET } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

/** What a provider waits for an answer. */
const PROVIDER_PATIENCE_MS = 5000;
const MARKET = "mkt_locked";

const tenant = tenantOfTests();
let operator: Sql;
beforeAll(async () => {
  operator = connect(tenant.backend.database.connection, { name: "forgotten shell", max: 1 });
  await tenant.openMarket(MARKET);
  await tenant.deposit("usr_1", 1000);
  await trade();
});
afterAll(async () => {
  await operator.end({ timeout: 5 });
});

async function trade(): Promise<Response> {
  return fetch(`${tenant.url}/v1/trade`, {
    method: "POST",
    headers: {
      "x-api-key": PUBLIC_KEY,
      authorization: `Bearer ${await userToken()}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ marketId: MARKET, selection: { side: "yes" }, amount: 1 }),
  });
}

const deposit = (txRef: string, userId = "usr_1") =>
  postWebhook(tenant.url, "/payments/inbound/acme", WEBHOOK_SECRET, {
    event: "deposit.completed",
    userId,
    amountUsd: 10,
    txRef,
  });

const read = async (path: string) =>
  fetch(tenant.url + path, { headers: { "x-api-key": ADMIN_KEY, authorization: `Bearer ${await userToken()}` } });

/** Runs `work` while another session, begun in some shell and forgotten, holds a lock. */
async function whileLocked<T>(lock: string, work: () => Promise<T>): Promise<T> {
  await operator.unsafe("begin");
  await operator.unsafe("set local idle_in_transaction_session_timeout = 0");
  try {
    await operator.unsafe(lock);
    return await work();
  } finally {
    await operator.unsafe("rollback");
  }
}

/** A refusal that says that nothing was executed, in time. */
async function expectInTime(ask: () => Promise<Response>): Promise<void> {
  const startedAt = performance.now();
  const answer = await ask();
  expect([answer.status, answer.headers.get("error-code")]).toEqual([500, "DATABASE_UNAVAILABLE"]);
  expect(performance.now() - startedAt).toBeLessThan(PROVIDER_PATIENCE_MS);
}

test.each([
  ["the head row", "select 1 from head for update", "usr_1"],
  ["the accounts", "lock table account", "usr_new"],
  ["one wallet", "select 1 from account where id = 'wallet:usr_1' for update", "usr_1"],
])(
  "while another session holds %s, a deposit is refused within the provider's patience, and counts once when it is repeated",
  async (_name, lock, user) => {
    const [txRef, before] = [randomUUID(), await tenant.balance(`wallet:${user}`)];
    await whileLocked(lock, () => expectInTime(() => deposit(txRef, user)));
    for (const _ of [1, 2]) expect((await deposit(txRef, user)).status).toBe(200);
    expect((await tenant.balance(`wallet:${user}`)) - before).toBe(10_000_000n);
  },
  20_000,
);

test("trades and reads that need a locked table are refused in time, the others go on, and all do when it is free", async () => {
  await whileLocked("lock table account", async () => {
    const waiting = [expectInTime(trade), expectInTime(() => read("/v1/wallet"))];
    for (const path of ["/health", "/v1/markets", "/v1/positions"]) expect((await read(path)).status).toBe(200);
    await Promise.all(waiting);
  });
  expect((await trade()).status).toBe(200);
  expect((await read("/v1/wallet")).status).toBe(200);
  expect(await tenant.isSound()).toBe(true);
}, 20_000);

test("public reads that hang are ended after half a second, and neither a trade nor a portfolio waits for them", async () => {
  const configuration = (body: string) =>
    operator.unsafe(`create or replace function market_search_configuration() returns regconfig
                     language plpgsql immutable as $$ begin ${body} return 'pg_catalog.english'; end $$`);
  await configuration("perform pg_sleep(60);");
  try {
    const search = async (q: string) => {
      const startedAt = performance.now();
      const response = await read(`/v1/markets?q=${q}`);
      return { response, ms: performance.now() - startedAt };
    };
    const hanging = Array.from({ length: 8 }, (_, index) => search(`word${index}`));
    expect((await trade()).status).toBe(200);
    for (const path of ["/v1/portfolio", "/v1/positions", "/v1/wallet"]) expect((await read(path)).status).toBe(200);
    for (const { response, ms } of await Promise.all(hanging)) {
      await expectRefusal(response, 503, "OVERLOADED");
      expect(response.headers.get("retry-after")).toBe("1");
      expect(ms).toBeGreaterThan(450);
      expect(ms).toBeLessThan(PROVIDER_PATIENCE_MS);
    }
  } finally {
    await configuration("");
  }
  expect((await read("/v1/markets?q=word")).status).toBe(200);
}, 20_000);
