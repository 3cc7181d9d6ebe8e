import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KeyUse } from "../../src/server/key-use.ts";
import { readKeyUse, recordKeyUse } from "../../src/store/key-use.ts";
import { ADMIN_KEY, insertKey, PUBLIC_KEY, sha256, userToken } from "./support/harness.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

let tenant: ServedTenant;
beforeAll(async () => {
  tenant = await serveTenant();
});
afterAll(() => tenant.close());

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
    await sql`insert into api_key values (${sha256("sk_thief")}, 'thief', 'admin', 0, null, 1)`;
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
    expect(await ask("/v1/markets", "pk_expired_0123456789")).toMatchObject({ status: 401, code: "KEY_INVALID" });
    await sql`update api_key set type = 'public' where name in ('web', 'old')`;
    await sql`update api_key set expires_at = 1000 where name = 'old'`;
  });

  test("a verified user, a lifted restriction and a score of another hand let nobody trade", async () => {
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

describe("the last use of a key", () => {
  test("is told in batches, after the request, and a later use wins whoever tells it first", async () => {
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
