import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Idempotency } from "../../../src/domain/access/idempotency.ts";
import { connect, type Sql } from "../../../src/postgres/connect.ts";
import { EndedSessions } from "../../../src/server/access/ended-sessions.ts";
import { invoke } from "../../../src/services/invoke.ts";
import type { TenantServices } from "../../../src/services/tenant/tenant.ts";
import { openStage } from "../../oracle/stage.ts";
import { openTestTenant, type TestTenant } from "../../support/tenant.ts";

let tenant: TestTenant;
/** As the server's own login, which a leaked `DATABASE_URL` gives. */
let server: Sql;
/** A server that starts after the scheme, and so has nothing of it in memory. */
let later: TenantServices;
beforeEach(async () => {
  tenant = await openTestTenant();
  server = connect(tenant.database.server, { name: "intruder", max: 1 });
  later = await tenant.anotherProcess();
});
afterEach(async () => {
  await server.end({ timeout: 5 });
  await later.close();
  await tenant.close();
});

const REFUSED = { code: "INTEGRITY" };
const KEY: Idempotency = { caller: "public:web:usr_1", key: "order-1", requestHash: "a".repeat(64) };

describe("the stored answer of a trade", () => {
  let marketId: string;
  const buy = (services: TenantServices) =>
    invoke(
      services.handlers,
      "placeTrade",
      { marketId, selection: { side: "yes" }, amount: 10 },
      { actor: "user:usr_1", user: { id: "usr_1" }, idempotency: KEY },
    );
  const trades = async () => (await tenant.sql`select count(*)::int4 as count from trade`)[0]?.count;
  beforeEach(async () => {
    marketId = await tenant.market();
    await tenant.deposit("usr_1", 100);
    await buy(tenant.services);
  });

  test("is repeated by a server that starts later", async () => {
    expect(await buy(later)).toMatchObject({ replayed: true });
    expect(await trades()).toBe(1);
  });

  test("deleted, lets no repeat trade again", async () => {
    expect((await server`delete from stored_answer`).count).toBe(1);
    await expect(buy(later)).rejects.toMatchObject(REFUSED);
    expect(await trades()).toBe(1);
  });

  test.each([
    ["its body", (sql: Sql) => sql`update stored_answer set body = replace(body, '10', '11')`],
    ["its age", (sql: Sql) => sql`update stored_answer set created_at = 1`],
    ["its key", (sql: Sql) => sql`update stored_answer set seal = ''`],
  ])("forged in %s, is not given, and lets no repeat trade again", async (_, forge) => {
    expect((await forge(server)).count).toBe(1);
    await expect(buy(later)).rejects.toMatchObject(REFUSED);
    expect(await trades()).toBe(1);
  });

  test("made up for a request that was never made, is not given", async () => {
    await server`
      insert into stored_answer (caller, key, request_hash, status, body, created_at, seal)
      select caller, 'order-2', request_hash, status, body, created_at, seal from stored_answer`;
    const made = invoke(
      later.handlers,
      "placeTrade",
      { marketId, selection: { side: "yes" }, amount: 10 },
      { actor: "user:usr_1", user: { id: "usr_1" }, idempotency: { ...KEY, key: "order-2" } },
    );
    await expect(made).rejects.toMatchObject(REFUSED);
  });
});

describe("the stored answer of an operator's move", () => {
  test.each([
    ["creditWallet", 120],
    ["debitWallet", 80],
  ] as const)("of %s, deleted, lets a repeat move money again, and the log names the second one", async (id, after) => {
    await tenant.deposit("usr_1", 100);
    const move = (services: TenantServices) =>
      invoke(
        services.handlers,
        id,
        { id: "usr_1", amount: 10, reason: "by phone" },
        { actor: "admin:ops", scopes: ["*"], idempotency: KEY },
      );
    await move(tenant.services);
    expect(await move(later)).toMatchObject({ replayed: true });
    expect((await server`delete from stored_answer`).count).toBe(1);
    const another = await tenant.anotherProcess();
    await move(another);
    await another.close();
    expect((await tenant.api().getUser({ id: "usr_1" })).balanceUsd).toBe(after);
    const places = (await tenant.api().explainLedger({})).find(({ name }) => name === "record")?.places;
    expect(places).toEqual([
      expect.objectContaining({ said: expect.stringMatching(/^(crd|deb)_[0-9a-f]{32}: moved by an operator/) }),
    ]);
  });
});

describe("the receipt of a deposit", () => {
  const deposit = (services: TenantServices) =>
    services.sequencer.submit({
      command: {
        type: "recordDeposit",
        provider: "payments",
        traderId: "usr_1",
        amountMicro: 5_000_000n,
        reference: "tx-1",
      },
      actor: "provider:payments",
    });

  test("forged before the deposit, swallows nothing: the provider is refused, and sends it again", async () => {
    await server`insert into receipt values ('payments', 'tx-1', 5000000, 'usr_1', '')`;
    await expect(deposit(later)).rejects.toMatchObject(REFUSED);
    await tenant.sql`delete from receipt`;
    const mended = await tenant.anotherProcess();
    await deposit(mended);
    expect((await tenant.api().getUser({ id: "usr_1" })).balanceUsd).toBe(5);
    await mended.close();
  });

  test("cannot be deleted by the server's login", async () => {
    await deposit(tenant.services);
    await expect(server`delete from receipt`).rejects.toThrow("permission denied");
  });

  test("deleted by the owner, lets the provider's repeat count twice, and the log names the second credit", async () => {
    await deposit(tenant.services);
    await tenant.sql`delete from receipt`;
    await deposit(later);
    expect((await tenant.api().getUser({ id: "usr_1" })).balanceUsd).toBe(10);
    const checks = await tenant.api().explainLedger({});
    const places = checks.find(({ name }) => name === "record")?.places;
    expect(places).toEqual([expect.objectContaining({ said: "payments tx-1: credited credited before" })]);
  });

  test("of the provider's bytes, forged, swallows nothing either", async () => {
    const sha256 = "b".repeat(64);
    await server`
      insert into inbound_delivery values ('payments', ${sha256}, 'deposit.completed', 'tx-1', 'usr_1', 'kept', null, 1, '')`;
    const arrived = {
      provider: "payments",
      sha256,
      event: "deposit.completed",
      reference: "tx-1",
      userId: "usr_1",
      body: null,
    };
    const command = {
      type: "recordDeposit",
      provider: "payments",
      traderId: "usr_1",
      amountMicro: 1n,
      reference: "tx-1",
      webhook: arrived,
    } as const;
    await expect(later.sequencer.submit({ command, actor: "provider:payments" })).rejects.toMatchObject(REFUSED);
  });
});

describe("an ended session", () => {
  test("is an entry of the log: no row brings the token back, and a deleted entry breaks the chain", async () => {
    const token = { userId: "usr_1", hash: "c".repeat(64), issuedAtMs: Date.now(), expiresAtMs: Date.now() + 60_000 };
    const sessionsOf = ({ pool, isSealed, sequencer }: TenantServices) =>
      new EndedSessions(pool, isSealed, ({ userId: traderId, tokenSha256, until }) =>
        sequencer.submit({ command: { type: "endSession", traderId, tokenSha256, until }, actor: `user:${traderId}` }),
      );
    await sessionsOf(tenant.services).end(token);
    const elsewhere = sessionsOf(later);
    await elsewhere.ready();
    expect(elsewhere.has(token)).toBe(true);
    await expect(server`delete from audit where type = 'session.ended'`).rejects.toThrow("permission denied");
    await tenant.sql`delete from audit where type = 'session.ended'`;
    expect(await tenant.api().getAuditStatus({})).toMatchObject({ verified: false });
  });
});

test("an inserted price settles no market: what no audit key sealed is no observation", async () => {
  const stage = await openStage();
  const intruder = connect(stage.scene.database.server, { name: "intruder", max: 1 });
  try {
    const { id, closeAt } = await stage.closedMarket("acme:s0 > 800");
    await stage.sweepAt(closeAt - 1000);
    for (const at of [closeAt - 1000, closeAt + 1000])
      await intruder`
        insert into oracle_tick values ('a', 's0', ${at}, '900', null, ${at}, ${closeAt + 5000}, '', '')`;
    const { settled } = await stage.sweepAt(closeAt + 6000);
    expect(settled).toEqual([]);
    expect(await stage.scene.api().getMarket({ id })).toMatchObject({ outcome: null });
    // Nor does a price that the servers wrote decide once it was changed.
    const { id: other, closeAt: at } = await stage.closedMarket("acme:s1 > 800");
    stage.show("a", "s1", "700", at - 2000);
    await stage.sweepAt(at - 1000);
    expect((await intruder`update oracle_tick set price = '900' where symbol = 's1'`).count).toBe(1);
    stage.show("a", "s1", "710", at + 5000);
    await stage.sweepAt(at + 6000);
    expect(await stage.scene.api().getMarket({ id: other })).toMatchObject({ outcome: null });
  } finally {
    await intruder.end({ timeout: 5 });
    await stage.close();
  }
});
