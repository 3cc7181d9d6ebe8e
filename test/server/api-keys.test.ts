import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WireResult } from "../../src/contract/operations.ts";
import type { RunningServer } from "../../src/server/server.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, serve, sha256, TENANT } from "./support/harness.ts";

interface Answer<Body> {
  status: number;
  code: string | null;
  replayed: boolean;
  body: Body;
}

const tenant = tenantOfTests();
let second: { services: TenantServices; server: RunningServer };
beforeAll(async () => {
  const services = await openTenant({
    tenantId: TENANT,
    connection: tenant.backend.database.server,
    auditSecret: "an audit key of the tests",
  });
  second = { services, server: await serve(tenant.backend, services.handlers) };
});
afterAll(async () => {
  await second.server.close();
  await second.services.close();
});

async function call<Body = unknown>(
  method: string,
  path: string,
  { key = ADMIN_KEY, body, idempotencyKey, url = tenant.url }: CallOptions = {},
): Promise<Answer<Body>> {
  const response = await fetch(url + path, {
    method,
    headers: {
      "x-api-key": key,
      "content-type": "application/json",
      ...(idempotencyKey && { "idempotency-key": idempotencyKey }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    code: response.headers.get("error-code"),
    replayed: response.headers.get("idempotent-replayed") === "true",
    body: (await response.json()) as Body,
  };
}

interface CallOptions {
  key?: string;
  body?: object;
  idempotencyKey?: string;
  url?: string;
}

/** Only a repeat lacks the value. */
type Told<Result> = Result & { key: string };
type Created = Told<WireResult<"createKey">>;
const create = (body: object, options: CallOptions = {}) => call<Created>("POST", "/v1/keys", { ...options, body });
const list = () => call<WireResult<"listKeys">>("GET", "/v1/keys");
const rotate = (name: string, overlapSeconds: number) =>
  call<Told<WireResult<"rotateKey">>>("POST", `/v1/keys/${name}/rotate`, { body: { overlapSeconds } });
const works = async (key: string, url = tenant.url) => (await call("GET", "/v1/markets", { key, url })).status === 200;

/** Asks until the other process has seen it: its key ring is a second old at the most. */
async function eventually(check: () => Promise<boolean>): Promise<void> {
  await expect.poll(check).toBe(true);
}

describe("API keys over HTTP", () => {
  test("a created key has the prefix of its type and 32 random bytes, and works with the next request", async () => {
    const { status, body } = await create({ name: "desk", type: "admin" });
    expect(status).toBe(200);
    expect(body).toEqual({
      name: "desk",
      type: "admin",
      scopes: ["*"],
      from: [],
      key: expect.stringMatching(/^sk_[A-Za-z0-9_-]{43}$/),
      createdAt: expect.any(String),
      expiresAt: null,
    });
    expect((await call("GET", "/v1/policy", { key: body.key })).status).toBe(200);
    const web = await create({ name: "shop", type: "public" });
    expect(web.body.key).toMatch(/^pk_/);
    expect(await works(web.body.key)).toBe(true);
    expect((await call("GET", "/v1/policy", { key: web.body.key })).status).toBe(403);
    expect(await works(body.key, second.server.url)).toBe(true);
  });

  test("only the hash is stored: in the table and the audit log, and in no stored answer; the value is nowhere", async () => {
    const { body } = await create({ name: "quiet", type: "admin" }, { idempotencyKey: "quiet-1" });
    const { sql } = tenant.backend;
    expect(await sql`select 1 from api_key where hash = ${sha256(body.key)}`).toHaveLength(1);
    const everything = await sql`
      select payload as text, true as log from audit
      union all select body, false from stored_answer union all select key, false from stored_answer`;
    expect(everything.length).toBeGreaterThan(1);
    for (const { text, log } of everything) {
      expect(text).not.toContain(body.key);
      if (!log) expect(text).not.toContain(sha256(body.key));
    }
    const [created] = (await tenant.audit("key.created")).filter(({ payload }) => payload.name === "quiet");
    expect(created?.payload).toMatchObject({ sha256: sha256(body.key), type: "admin", expiresAt: null });
  });

  test("the repeat of a request makes no second key, and does not tell the value again", async () => {
    const first = await create({ name: "once", type: "public" }, { idempotencyKey: "once-1" });
    const again = await create({ name: "once", type: "public" }, { idempotencyKey: "once-1" });
    expect(first).toMatchObject({ status: 200, replayed: false });
    expect(again).toMatchObject({ status: 200, replayed: true, body: { ...first.body, key: null } });
    const { body } = await list();
    expect(body.filter(({ name }) => name === "once")).toHaveLength(1);
  });

  test("a name in force is taken", async () => {
    await create({ name: "taken", type: "public" });
    expect(await create({ name: "taken", type: "admin" })).toMatchObject({ status: 400, code: "KEY_EXISTS" });
  });

  test.each([
    [{ name: "a b", type: "admin" }],
    [{ name: "x", type: "root" }],
    [{ name: "x", type: "admin", expiresAt: "2001-01-01T00:00:00Z" }],
    [{ name: "x", type: "admin", expiresAt: "tomorrow" }],
  ])("%j is refused", async (body) => {
    expect(await create(body)).toMatchObject({ status: 400, code: "BAD_REQUEST" });
  });

  test("a public key reaches none of it", async () => {
    for (const [method, path] of [
      ["GET", "/v1/keys"],
      ["POST", "/v1/keys"],
      ["POST", "/v1/keys/ops/rotate"],
      ["POST", "/v1/keys/ops/revoke"],
    ] as const)
      expect(await call(method, path, { key: PUBLIC_KEY, ...(method === "POST" && { body: {} }) })).toMatchObject({
        status: 403,
      });
  });

  test("after a rotation both values work, and without an overlap only the new one, at once", async () => {
    const old = (await create({ name: "turn", type: "public" })).body.key;
    const turned = await rotate("turn", 3600);
    expect(turned.body).toMatchObject({ name: "turn", type: "public", key: expect.stringMatching(/^pk_/) });
    expect(Date.parse(turned.body.oldUntil) - Date.parse(turned.body.createdAt)).toBe(3_600_000);
    expect(await works(old)).toBe(true);
    expect(await works(turned.body.key)).toBe(true);
    const again = await rotate("turn", 0);
    expect(await works(old)).toBe(false);
    expect(await works(turned.body.key)).toBe(false);
    expect(await works(again.body.key)).toBe(true);
  });

  test("a revoked key is refused by the next request here, and within its ring's second by another process", async () => {
    const { key } = (await create({ name: "gone", type: "public" })).body;
    await eventually(() => works(key, second.server.url));
    expect(await call("POST", "/v1/keys/gone/revoke", { body: {} })).toMatchObject({
      status: 200,
      body: { name: "gone", type: "public", revokedAt: expect.any(String) },
    });
    expect(await works(key)).toBe(false);
    await eventually(async () => !(await works(key, second.server.url)));
    expect(await call("POST", "/v1/keys/gone/revoke", { body: {} })).toMatchObject({ status: 404, code: "NOT_FOUND" });
  });

  test("a request cannot revoke the key that it came with", async () => {
    expect(await call("POST", "/v1/keys/ops/revoke", { body: {} })).toMatchObject({ status: 400, code: "KEY_IN_USE" });
    expect(await works(ADMIN_KEY)).toBe(true);
  });

  test("the list tells names, types, fingerprints and times, and of no key anything else", async () => {
    const { body } = await list();
    expect(body).toContainEqual({
      name: "ops",
      type: "admin",
      active: true,
      onRecord: true,
      fingerprint: `fp:${sha256(ADMIN_KEY).slice(0, 8)}`,
      scopes: ["*"],
      from: [],
      createdAt: expect.any(String),
      expiresAt: null,
      leaked: false,
      // Uses are written every 15 s, so a slow run may already know one of the list itself.
      lastUsedAt: expect.toBeOneOf([null, expect.any(String)]),
    });
    const fields = [
      "active",
      "createdAt",
      "expiresAt",
      "fingerprint",
      "from",
      "lastUsedAt",
      "leaked",
      "name",
      "onRecord",
      "scopes",
      "type",
    ];
    for (const item of body) expect(Object.keys(item).sort()).toEqual(fields);
  });

  test("every step is on record with its actor, and the books still hold", async () => {
    const entries = await tenant.audit("key.created", "key.revoked");
    const about = (name: string) => entries.filter(({ payload }) => payload.name === name);
    expect(about("turn").map(({ type }) => type)).toEqual(["key.created", "key.created", "key.created", "key.revoked"]);
    expect(about("gone")).toMatchObject([
      { type: "key.created", actor: "admin:ops" },
      { type: "key.revoked", actor: "admin:ops", payload: { name: "gone", type: "public" } },
    ]);
    expect(await tenant.isSound()).toBe(true);
  });
});
