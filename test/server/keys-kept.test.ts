import { describe, expect, onTestFinished, test } from "vitest";
import type { WireInput } from "../../src/contract/operations.ts";
import { connect } from "../../src/postgres/connect.ts";
import { readerOf } from "../../src/postgres/pool.ts";
import { KeyRing } from "../../src/server/access/key-ring.ts";
import { configInput } from "./support/config-input.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, sha256, userToken } from "./support/harness.ts";

/** Everything here comes from 127.0.0.1, which may say whom it speaks for. */
const tenant = tenantOfTests({ trustProxy: ["127.0.0.0/8"] });

interface Told {
  status: number;
  code: string | null;
  error?: string;
  body: { key: string; [field: string]: unknown };
}

async function ask(method: string, path: string, key: string, body?: object, headers = {}): Promise<Told> {
  const response = await fetch(tenant.url + path, {
    method,
    headers: { "x-api-key": key, "content-type": "application/json", ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Told["body"] & { error?: string };
  const { status, headers: told } = response;
  return { status, code: told.get("error-code"), body: answer, ...("error" in answer && { error: answer.error }) };
}

/** Beyond the second for which a ring may be old. */
const ringIsRenewed = () => new Promise((resolve) => setTimeout(resolve, 1100));

interface Live {
  version: number;
  capitalUsd: number;
  markets: { id: string }[];
  now: string;
}

let made = 0;
/** A new key's value. */
async function keyWith(kept: { scopes?: string[]; from?: string[]; type?: string }, name = `key-${++made}`) {
  const { status, body } = await ask("POST", "/v1/keys", ADMIN_KEY, { name, type: "admin", ...kept });
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.key;
}
const lacks = (scope: string) => ({ status: 403, code: "SCOPE_REQUIRED", error: expect.stringContaining(scope) });

describe("a key gives no scope that it lacks", () => {
  test("to a new key; one with all scopes gives any, and what is not stated is all", async () => {
    const keeper = await keyWith({ scopes: ["keys", "read"] });
    const create = (kept: object) =>
      ask("POST", "/v1/keys", keeper, { name: `made-${++made}`, type: "admin", ...kept });
    expect(await create({})).toMatchObject(lacks("*"));
    expect(await create({ scopes: ["*"] })).toMatchObject(lacks("*"));
    expect(await create({ scopes: ["read", "settle"] })).toMatchObject(lacks("settle"));
    const given = await create({ scopes: ["read", "keys", "read"] });
    expect(given).toMatchObject({ status: 200, body: { scopes: ["read", "keys"], from: [] } });
    expect(await create({ type: "public" })).toMatchObject({ status: 200, body: { scopes: [] } });
    const { body } = await ask("GET", "/v1/keys", keeper);
    expect(body).toContainEqual(expect.objectContaining({ name: given.body.name, scopes: ["read", "keys"], from: [] }));
    expect(body).toContainEqual(expect.objectContaining({ name: "ops", scopes: ["*"] }));
  });

  test("with a new value of a key that has more; a rotation neither widens nor narrows", async () => {
    const keeper = await keyWith({ scopes: ["keys"] });
    await keyWith({ scopes: ["read", "settle"], from: ["127.0.0.1"] }, "desk");
    for (const name of ["ops", "desk"])
      expect(await ask("POST", `/v1/keys/${name}/rotate`, keeper, {})).toMatchObject({ code: "SCOPE_REQUIRED" });
    const rotated = await ask("POST", "/v1/keys/desk/rotate", ADMIN_KEY, {});
    expect(rotated.body).toMatchObject({ scopes: ["read", "settle"], from: ["127.0.0.1/32"] });
    expect(await ask("GET", "/v1/keys", rotated.body.key)).toMatchObject({ status: 200 });
    expect(await ask("PUT", "/v1/policy", rotated.body.key, { feeBps: 1 })).toMatchObject(lacks("config"));
    expect(await ask("POST", "/v1/keys/desk/revoke", keeper, {})).toMatchObject({ status: 200 });
  });

  test("by an apply: it needs `keys`, and every scope of a key that it makes or changes", async () => {
    type Keys = WireInput<"applyConfig">["keys"];
    const version = async () => (await ask("GET", "/v1/config", ADMIN_KEY)).body.version as number;
    const apply = async (key: string, change: Partial<WireInput<"applyConfig">>) =>
      ask("POST", "/v1/config", key, configInput({ ifVersion: await version(), ...change }));
    const keys = (change: Partial<Keys[number]> = {}): Keys => [
      { name: "planted", type: "admin", sha256: sha256("sk_planted"), expiresAt: null, ...change },
    ];
    const config = await keyWith({ scopes: ["config"] });
    const both = await keyWith({ scopes: ["config", "keys", "read"] });
    expect(await apply(config, { policy: { feeBps: 30 } })).toMatchObject({ status: 200 });
    expect(await apply(config, { keys: keys() })).toMatchObject(lacks("keys"));
    expect(await apply(config, { keys: keys({ scopes: ["config"] }) })).toMatchObject(lacks("keys"));
    expect(await apply(config, { keys: keys({ type: "public" }) })).toMatchObject(lacks("keys"));
    const ops = { name: "ops", fingerprint: `fp:${sha256(ADMIN_KEY).slice(0, 8)}` };
    expect(await apply(config, { revoke: [ops] })).toMatchObject(lacks("keys"));
    // A stale plan is no way to learn more.
    expect(await apply(config, { keys: keys(), ifVersion: 0 })).toMatchObject(lacks("keys"));
    expect(await apply(both, { keys: keys() })).toMatchObject(lacks("*"));
    expect(await apply(both, { keys: keys({ scopes: ["read"] }) })).toMatchObject({ status: 200 });
    for (const change of [
      { scopes: ["read", "settle"] as const },
      { scopes: undefined },
      { name: "renamed", scopes: ["funds"] as const },
    ]) {
      const widened = keys(change as Partial<Keys[number]>);
      expect(await apply(both, { keys: widened })).toMatchObject({ code: "SCOPE_REQUIRED" });
    }
    // What is stated as it stands is no change, and needs nothing.
    expect(await apply(config, { keys: keys({ scopes: ["read"] }) })).toMatchObject({ status: 200 });
    const rollback = { rollbackTo: 1, policy: { feeBps: 31 } };
    expect(await apply(config, { ...rollback, keys: keys({ scopes: ["*"] }) })).toMatchObject(lacks("keys"));
    expect(await apply(config, { adopted: ["keys.planted"], keys: keys() })).toMatchObject(lacks("keys"));
    expect(await ask("GET", "/v1/audit", "sk_planted")).toMatchObject({ status: 200 });
    expect(await ask("POST", "/v1/settle", "sk_planted", {})).toMatchObject(lacks("settle"));
    expect(await apply(ADMIN_KEY, { keys: keys() })).toMatchObject({ status: 200 });
    expect(await ask("POST", "/v1/settle", "sk_planted", {})).toMatchObject({ code: "BAD_REQUEST" });
  });

  test("by an apply that does the work of other scopes: each is asked for, before staleness, and changes nothing", async () => {
    const live = async () => (await ask("GET", "/v1/config", ADMIN_KEY)).body as unknown as Live;
    const apply = async (key: string, change: Partial<WireInput<"applyConfig">>) =>
      ask("POST", "/v1/config", key, configInput({ ifVersion: (await live()).version, ...change }));
    const config = await keyWith({ scopes: ["config", "read"] });
    const market = (key: string, state: "open" | "suspended" = "open") => ({
      key,
      question: "Will it rain?",
      category: "weather",
      kind: "cpmm" as const,
      p0: 0.5,
      closeAt: "2096-01-01T00:00:00Z",
      resolutionRef: "by hand",
      state,
    });
    expect(await apply(ADMIN_KEY, { markets: [market("first")] })).toMatchObject({ status: 200 });
    const before = await live();
    const marketId = before.markets[0]?.id ?? "";
    const suspending = [{ marketId, from: "open" as const, to: "suspended" as const }];
    const resuming = [{ marketId, from: "suspended" as const, to: "open" as const }];
    const raised = { capitalUsd: before.capitalUsd + 1 };
    const creates = lacks("markets because it creates markets");
    const turns = lacks("markets because it suspends or resumes markets");
    const funds = lacks("funds because it adds capital");
    for (const [change, refusal] of [
      [{ markets: [market("second")] }, creates],
      [{ markets: [market("second", "suspended")], ...raised }, creates],
      [{ markets: [market("first")] }, creates],
      [{ marketStates: suspending }, turns],
      [{ marketStates: resuming }, turns],
      [raised, funds],
      [{ ...raised, rollbackTo: 1 }, funds],
      [{ marketStates: suspending, rollbackTo: 1, ifVersion: 0 }, turns],
      [{ ...raised, adopted: ["treasury.capitalUsd"], ifVersion: 0 }, funds],
    ] as [Partial<WireInput<"applyConfig">>, object][])
      expect([change, await apply(config, change)]).toMatchObject([change, refusal]);
    // What is stated as it stands, or less of it, is no work of another scope.
    const { now: _, ...unchanged } = before;
    expect(await live()).toMatchObject(unchanged);
    expect(await apply(config, { capitalUsd: 0 })).toMatchObject({ status: 200 });
    const both = await keyWith({ scopes: ["config", "markets"] });
    expect(await apply(both, { marketStates: suspending })).toMatchObject({ status: 200 });
    expect(await apply(both, { marketStates: resuming })).toMatchObject({ status: 200 });
    expect(await apply(both, { markets: [market("second")] })).toMatchObject({ status: 200 });
    expect(await apply(both, { markets: [market("second")] })).toMatchObject({ code: "REFUSED" });
    expect(await apply(both, { markets: [market("third")], ...raised })).toMatchObject(funds);
    const all = await keyWith({ scopes: ["config", "markets", "funds"] });
    expect(await apply(all, { markets: [market("third")], ...raised })).toMatchObject({ status: 200 });
    // The scopes of the work alone are none for an apply.
    const work = await keyWith({ scopes: ["markets", "funds", "keys"] });
    expect(await apply(work, { marketStates: suspending })).toMatchObject(lacks("config"));
  });

  test.each([
    ["an unknown scope", { scopes: ["setle"] }, 'did you mean "settle"?'],
    ["no scope", { scopes: [] }, "scopes"],
    ["scopes of a public key", { type: "public", scopes: ["read"] }, "only admin keys have scopes"],
    ["what is no network", { from: ["10.0.0.0/33"] }, "from.0: must be an address range"],
    ["a short form of one", { from: ["10.1"] }, "from.0: must be an address range"],
  ])("%s is refused", async (_, kept, text) => {
    const body = { name: "odd", type: "admin", ...kept };
    expect(await ask("POST", "/v1/keys", ADMIN_KEY, body)).toMatchObject({
      status: 400,
      code: "BAD_REQUEST",
      error: expect.stringContaining(text),
    });
  });
});

describe("a key that is kept to networks", () => {
  const seenFrom = (key: string, address?: string, path = "/v1/keys", headers = {}) =>
    ask("GET", path, key, undefined, { ...(address && { "x-forwarded-for": address }), ...headers });

  test("works from there, by the address that the rate limit counts, and from elsewhere is like an unknown one", async () => {
    const key = await keyWith({ from: ["192.0.2.0/24", "2001:db8:1::/48", "::ffff:198.51.100.0/120"] });
    for (const address of ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8:1:2::3", "198.51.100.9", "6.6.6.6, 192.0.2.7"])
      expect([address, await seenFrom(key, address)]).toMatchObject([address, { status: 200 }]);
    const unknown = await seenFrom("sk_unknown");
    expect(unknown).toMatchObject({ status: 401, code: "KEY_INVALID" });
    for (const address of [undefined, "192.0.3.7", "2001:db8:2::1", "198.51.101.9", "192.0.2.7, 6.6.6.6", "192.0.2"])
      expect([address, await seenFrom(key, address)]).toEqual([address, unknown]);
  });

  test("is kept to them for public and user operations too, and whatever else is wrong", async () => {
    const key = await keyWith({ type: "public", from: ["192.0.2.1"] });
    const authorization = `Bearer ${await userToken()}`;
    expect(await seenFrom(key, "192.0.2.1", "/v1/markets")).toMatchObject({ status: 200 });
    expect(await seenFrom(key, "192.0.2.2", "/v1/markets")).toMatchObject({ code: "KEY_INVALID" });
    expect(await seenFrom(key, "192.0.2.1", "/v1/positions", { authorization })).toMatchObject({ status: 200 });
    expect(await seenFrom(key, "192.0.2.2", "/v1/positions", { authorization })).toMatchObject({ code: "KEY_INVALID" });
    expect(await seenFrom(key, "192.0.2.2")).toMatchObject({ code: "KEY_INVALID" });
  });

  test("counts as used only from there", async () => {
    const { body } = await ask("POST", "/v1/keys", ADMIN_KEY, { name: "far", type: "admin", from: ["192.0.2.1"] });
    await seenFrom(body.key, "192.0.2.9");
    const { body: keys } = await ask("GET", "/v1/keys", ADMIN_KEY);
    expect(keys).toContainEqual(expect.objectContaining({ name: "far", from: ["192.0.2.1/32"], lastUsedAt: null }));
  });
});

describe("what a key is kept to is what the log says", () => {
  const reconcile = async () => (await ask("POST", "/v1/reconcile", ADMIN_KEY, {})).body.ok;

  test("an entry states scopes and networks, and a row that was widened by another hand widens nothing", async () => {
    const { sql } = tenant.backend;
    const key = await keyWith({ scopes: ["read"], from: ["127.0.0.1"] }, "narrow");
    const entry = (await tenant.audit("key.created")).findLast(({ payload }) => payload.name === "narrow");
    const kept = { scopes: ["read"], from: ["127.0.0.1/32"] };
    expect(entry?.payload).toMatchObject({ ...kept, keys: { [sha256(key)]: kept } });
    expect(await reconcile()).toBe(true);
    for (const widened of [
      { scopes: "*", networks: "" },
      { scopes: "* read", networks: "0.0.0.0/0" },
    ]) {
      await sql`update api_key set ${sql(widened)} where name = 'narrow'`;
      await ringIsRenewed();
      expect(await ask("POST", "/v1/settle", key, {})).toMatchObject(lacks("settle"));
      const elsewhere = { "x-forwarded-for": "192.0.2.1" };
      expect(await ask("GET", "/v1/keys", key, undefined, elsewhere)).toMatchObject({ code: "KEY_INVALID" });
    }
    for (const change of [{ scopes: "*" }, { scopes: "" }, { networks: "" }, { networks: "0.0.0.0/0" }]) {
      await sql`update api_key set scopes = 'read', networks = '127.0.0.1/32' where name = 'narrow'`;
      expect(await reconcile()).toBe(true);
      await sql`update api_key set ${sql(change)} where name = 'narrow'`;
      expect([change, await reconcile()]).toEqual([change, false]);
      const { body } = await ask("GET", "/v1/reconcile/checks", ADMIN_KEY);
      expect(JSON.stringify(body)).toContain('"place":"narrow"');
    }
    await sql`update api_key set scopes = 'read', networks = '127.0.0.1/32' where name = 'narrow'`;
    expect(await reconcile()).toBe(true);
  });
});

test("a request that waits for the keys while this process changes them is checked against the changed keys", async () => {
  const { connection } = tenant.backend.database;
  const [reader, other] = [
    connect(connection, { name: "ring", max: 2 }),
    connect(connection, { name: "other", max: 1 }),
  ];
  onTestFinished(async () => {
    await Promise.all([reader.end({ timeout: 5 }), other.end({ timeout: 5 })]);
  });
  const ring = new KeyRing(readerOf(reader), tenant.services.isSealed);
  await other.unsafe("begin");
  await other.unsafe("lock table api_key in access exclusive mode");
  const waiting = ring.ready();
  ring.forget();
  await other.unsafe("commit");
  await waiting;
  expect(ring.find(ADMIN_KEY)).toMatchObject({ name: "ops" });
});
