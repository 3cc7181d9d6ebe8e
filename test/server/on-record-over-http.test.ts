import { describe, expect, test } from "vitest";
import { readKeyUse, recordKeyUse } from "../../src/ledger/unchained/key-use.ts";
import { KeyUse } from "../../src/server/access/key-use.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, EXPIRED_KEY, insertKey, PUBLIC_KEY, sha256, userToken } from "./support/harness.ts";

const tenant = tenantOfTests();

const ask = async (path: string, key: string, init: RequestInit = {}) => {
  const headers = { "x-api-key": key, "content-type": "application/json", ...init.headers };
  const response = await fetch(tenant.url + path, { ...init, headers });
  return { status: response.status, code: response.headers.get("error-code"), body: await response.json() };
};
/** Beyond the second for which a ring may be old. */
const ringIsRenewed = () => new Promise((resolve) => setTimeout(resolve, 1100));

describe("over HTTP, what no entry says counts for nothing", () => {
  test("a key that was put into the table opens nothing, and reconciliation and the list name it", async () => {
    const { sql } = tenant.backend;
    await sql`insert into api_key values (${sha256("sk_thief")}, 'thief', 'admin', 0, null, 1, '*', '')`;
    await ringIsRenewed();
    expect(await ask("/v1/keys", "sk_thief")).toMatchObject({ status: 401, code: "KEY_INVALID" });
    const { body: keys } = await ask("/v1/keys", ADMIN_KEY);
    const fingerprint = `fp:${sha256("sk_thief").slice(0, 8)}`;
    expect(keys).toContainEqual(
      expect.objectContaining({ name: "thief", active: false, onRecord: false, fingerprint }),
    );
    expect((await ask("/v1/reconcile", ADMIN_KEY, { method: "POST", body: "{}" })).body).toMatchObject({
      ok: false,
      discrepancy: 1,
    });
    const { body: checks } = await ask("/v1/reconcile/checks", ADMIN_KEY);
    expect(checks).toContainEqual(
      expect.objectContaining({ name: "keys", unit: "count", ok: false, discrepancy: 1, rows: 1 }),
    );
    expect(JSON.stringify(checks)).toContain('"place":"thief"');
    await ask("/v1/keys/thief/revoke", ADMIN_KEY, { method: "POST", body: "{}" });
    expect((await ask("/v1/reconcile", ADMIN_KEY, { method: "POST", body: "{}" })).body).toMatchObject({ ok: true });
  });

  test("a public key stays public, and an ended one ended, whatever the table says", async () => {
    const { sql } = tenant.backend;
    await sql`update api_key set type = 'admin', expires_at = null where name in ('web', 'old')`;
    await ringIsRenewed();
    expect(await ask("/v1/keys", PUBLIC_KEY)).toMatchObject({ status: 403 });
    expect(await ask("/v1/markets", EXPIRED_KEY)).toMatchObject({ status: 401, code: "KEY_INVALID" });
    await sql`update api_key set type = 'public' where name in ('web', 'old')`;
    await sql`update api_key set expires_at = 1000 where name = 'old'`;
  });

  test("a verified status, a lifted restriction and a score written straight to the tables let no user trade", async () => {
    const { sql } = tenant.backend;
    await tenant.openMarket("m1");
    for (const [id, restricted] of [
      ["eve", false],
      ["mal", true],
    ] as const) {
      await tenant.deposit(id, 100);
      if (restricted) await ask(`/v1/users/${id}/restrict`, ADMIN_KEY, { method: "POST", body: "{}" });
      await sql`update trader set kyc = 'verified', kyc_at = 1, restricted = false, suitability_score = 20 where id = ${id}`;
    }
    // Another process's commit makes this one forget what it holds in memory.
    await sql`update head set epoch = epoch + 1`;
    expect((await ask("/v1/users/eve", ADMIN_KEY)).body).toMatchObject({ state: "unverified", suitabilityScore: null });
    expect((await ask("/v1/users/mal", ADMIN_KEY)).body).toMatchObject({ state: "restricted" });
    const body = JSON.stringify({ marketId: "m1", selection: { side: "yes" }, amount: 5 });
    const trade = async (id: string) =>
      ask("/v1/trade", PUBLIC_KEY, {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${await userToken({ sub: id })}` },
      });
    expect(await trade("mal")).toMatchObject({ status: 403, code: "ACCOUNT_RESTRICTED" });
  });
});

describe("over HTTP, an entry that the audit key did not seal counts for nothing", () => {
  const thief = sha256("sk_forger");
  const keyEntry = JSON.stringify({
    keys: { [thief]: { createdAt: "2026-01-01T00:00:00.000Z", expiresAt: null } },
    name: "forger",
    type: "admin",
  });
  const forged = (seq: string) => `
    insert into audit (seq, type, actor, payload, ts, key_id, hash)
    select ${seq}, 'key.created', actor, '${keyEntry}', ts, key_id, repeat('f', 64)
      from audit order by audit.seq desc limit 1`;
  const beyond = "(select max(seq) + 1 from audit)";

  test.each([
    ["an edited entry", `update audit set payload = '${keyEntry}' where seq = 1`],
    [
      "an edited entry that lists its own key too",
      `update audit set payload = jsonb_set(payload::jsonb, '{keys,${thief}}', '{"createdAt":"2026-01-01T00:00:00.000Z","expiresAt":null}')::text
        where seq = 1`,
    ],
    ["an entry of seq 0", forged("0")],
    ["an entry of a negative seq", forged("-5")],
    ["an entry behind the head", forged(beyond)],
    [
      "an entry at a head that was moved to it",
      `${forged(beyond)}; update head set seq = seq + 1, hash = repeat('f', 64)`,
    ],
    ["an entry without a head row", `${forged(beyond)}; delete from head`],
  ])("%s opens no key", async (_, tamper) => {
    const { sql } = tenant.backend;
    await sql`create table kept_audit as table audit`;
    await sql`create table kept_head as table head`;
    try {
      await sql.unsafe(`insert into api_key values ('${thief}', 'forger', 'admin', 0, null, 1, '*', ''); ${tamper}`);
      await ringIsRenewed();
      expect(await ask("/v1/keys", "sk_forger")).toMatchObject({ status: 401, code: "KEY_INVALID" });
    } finally {
      await sql.unsafe(`
        delete from api_key where name = 'forger';
        delete from audit;
        insert into audit select * from kept_audit;
        delete from head;
        insert into head select * from kept_head;
        drop table kept_audit;
        drop table kept_head`);
    }
    await ringIsRenewed();
    expect((await ask("/v1/keys", ADMIN_KEY)).status).toBe(200);
  });

  test("a passed check and a lifted restriction in an edited entry let no user trade", async () => {
    const { sql } = tenant.backend;
    const post = (path: string) => ask(path, ADMIN_KEY, { method: "POST", body: "{}" });
    await tenant.services.sequencer.submit({
      command: {
        type: "recordKyc",
        traderId: "sly",
        status: "failed",
        provider: "idv",
        verifiedAt: 1,
        jurisdiction: "US",
      },
      actor: "provider:idv",
    });
    await post("/v1/users/sly/restrict");
    await sql`update audit set payload = replace(payload, 'failed', 'passed')
               where type = 'kyc.updated' and payload like '%"sly"%'`;
    await sql`update audit set payload = replace(payload, 'true', 'false')
               where type = 'user.restricted' and payload like '%"sly"%'`;
    await sql`update trader set kyc = 'verified', restricted = false where id = 'sly'`;
    await sql`update head set epoch = epoch + 1`;
    expect((await ask("/v1/users/sly", ADMIN_KEY)).body).toMatchObject({ state: "restricted", kyc: "unverified" });
    const trade = await ask("/v1/trade", PUBLIC_KEY, {
      method: "POST",
      body: JSON.stringify({ marketId: "m1", selection: { side: "yes" }, amount: 5 }),
      headers: { authorization: `Bearer ${await userToken({ sub: "sly" })}` },
    });
    expect(trade).toMatchObject({ status: 403, code: "ACCOUNT_RESTRICTED" });
  });
});

describe("the last use of a key", () => {
  test("is written in batches after the request, and the later use wins whichever server writes first", async () => {
    const { sql } = tenant.backend;
    await recordKeyUse(
      sql,
      new Map([
        ["a", 20],
        ["b", 5],
      ]),
    );
    await recordKeyUse(
      sql,
      new Map([
        ["a", 10],
        ["b", 6],
      ]),
    );
    const uses = await readKeyUse(sql);
    expect([uses.get("a"), uses.get("b")]).toEqual([20, 6]);
  });

  test("that could not be told is told with the next", async () => {
    const told: string[][] = [];
    let away = true;
    const uses = new KeyUse(async (seen) => {
      if (away) throw new Error("away");
      told.push([...seen.keys()].sort());
    }, 5);
    uses.note("a");
    await expect
      .poll(() => told.length, { timeout: 60 })
      .toBe(0)
      .catch(() => undefined);
    away = false;
    uses.note("b");
    await uses.stop();
    expect(told.flat().sort()).toEqual(["a", "b"]);
  });

  test("is in the list once the server has told it, and outlives the server", async () => {
    await insertKey(tenant.backend.sql, "pk_unused", "unused", "public");
    await tenant.backend.sql`update head set epoch = epoch + 1`;
    await ask("/v1/markets", PUBLIC_KEY);
    await tenant.server.close();
    const caller = { actor: "cli:test" };
    const keys = (await tenant.services.handlers.listKeys?.({}, caller)) as {
      name: string;
      lastUsedAt: number | null;
    }[];
    const used = (name: string) => keys.find((key) => key.name === name)?.lastUsedAt;
    expect(used("web")).toBeGreaterThan(Date.now() - 60_000);
    expect(used("unused")).toBeNull();
  });
});
