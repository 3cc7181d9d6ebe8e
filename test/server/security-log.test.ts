import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { beforeEach, expect, test } from "vitest";
import type { WireResult } from "../../src/contract/operations.ts";
import type { SecurityEvent } from "../../src/domain/access/security.ts";
import { forgetOldSecurityEvents } from "../../src/ledger/unchained/forget.ts";
import { ownTime } from "../support/own-time.ts";
import { configInput } from "./support/config-input.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, EXPIRED_KEY, PUBLIC_KEY, TENANT, type TokenClaims, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

type Entry = WireResult<"listSecurityEvents">["entries"][number];

const lines: Record<string, unknown>[] = [];
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
const tenant = tenantOfTests({ trustProxy: ["127.0.0.1/32"], log });
/** Each test speaks from an address of its own. */
let lastAddress = 0;
let address: string;
beforeEach(() => {
  lastAddress += 1;
  address = `203.0.113.${lastAddress}`;
});

const call = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
  fetch(tenant.url + path, {
    method,
    headers: { "x-forwarded-for": address, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body }),
  });
const list = async (query = ""): Promise<WireResult<"listSecurityEvents">> => {
  const headers = { "x-api-key": ADMIN_KEY, "x-forwarded-for": "192.0.2.250" };
  const response = await fetch(`${tenant.url}/v1/audit/security${query}`, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as WireResult<"listSecurityEvents">;
};
const here = async (event: SecurityEvent): Promise<Entry[]> =>
  (await list(`?event=${event}&limit=200`)).entries.filter((entry) => entry.address === address);
const printOf = (key: string) => `fp:${createHash("sha256").update(key).digest("hex").slice(0, 8)}`;
const metric = async (line: string): Promise<number> => {
  const text = await (await fetch(`${tenant.server.opsUrl}/metrics`)).text();
  return Number(
    text
      .split("\n")
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length + 1) ?? 0,
  );
};

test("300 wrong admin keys leave a trace, and never their values", async () => {
  const failures = 'pmctl_auth_failures_total{reason="key"}';
  const before = await metric(failures);
  const wrong = Array.from({ length: 300 }, (_, index) => `sk_wrong_${index}`);
  for (const key of wrong) await (await call("GET", "/v1/users/usr_secret", { "x-api-key": key })).body?.cancel();
  const entries = await here("auth.failed");
  // The minute may turn over on the way.
  expect(entries.length).toBeLessThanOrEqual(2);
  expect(entries.reduce((sum, { count }) => sum + count, 0)).toBe(300);
  expect(entries.at(-1)).toEqual({
    ts: expect.stringMatching(/Z$/),
    event: "auth.failed",
    reason: "key",
    detail: null,
    address,
    fingerprint: printOf("sk_wrong_0"),
    keyName: null,
    route: "/v1/users/:id",
    count: entries.at(-1)?.count,
  });
  expect(await metric(failures)).toBe(before + 300);
  expect(await metric('pmctl_security_events_total{event="auth.failed"}')).toBeGreaterThanOrEqual(before + 300);
  const rows = await tenant.backend.sql`select * from security_event`;
  expect(JSON.stringify([rows, lines])).not.toMatch(/sk_wrong|usr_secret/);
});

test("an entry is in the table within 5 s, and in the server's log", async () => {
  await call("GET", "/v1/keys", { "x-api-key": EXPIRED_KEY });
  const elapsed = ownTime();
  const written = async () =>
    (await tenant.backend.sql`select 1 from security_event where address = ${address}`).length;
  while ((await written()) === 0 && elapsed() < 5000) await delay(100);
  expect(await written()).toBe(1);
  expect(lines.filter((line) => line.address === address)).toMatchObject([
    { level: 40, event: "auth.failed", reason: "key", fingerprint: printOf(EXPIRED_KEY), route: "/v1/keys", count: 1 },
  ]);
});

test("a user token that is refused is told with its key, and none is no failure", async () => {
  const forged = await userToken({}, "another secret that is long enough for HS256");
  await call("GET", "/v1/wallet", { "x-api-key": PUBLIC_KEY });
  expect(await here("auth.failed")).toEqual([]);
  for (const credentials of [{ authorization: `Bearer ${forged}` }, { cookie: `__Host-pm_session=${forged}` }])
    await expectRefusal(
      await call("GET", "/v1/wallet", { "x-api-key": PUBLIC_KEY, ...credentials }),
      401,
      "USER_REQUIRED",
    );
  expect(await here("auth.failed")).toMatchObject([
    {
      reason: "token",
      detail: "signature",
      keyName: "web",
      fingerprint: printOf(PUBLIC_KEY),
      route: "/v1/wallet",
      count: 2,
    },
  ]);
});

test("each fault of a refused token is an entry of its own, and neither token nor value is in it", async () => {
  const bearer = async (claims: TokenClaims) => ({
    "x-api-key": PUBLIC_KEY,
    authorization: `Bearer ${await userToken({ sub: "usr_secret", ...claims })}`,
  });
  const day = 24 * 3600;
  const iat = Math.floor(Date.now() / 1000);
  const sent = [{ exp: undefined }, { iat: undefined }, { iat, exp: iat + day + 60 }, { exp: undefined }];
  for (const claims of sent) {
    const answer = await call("GET", "/v1/wallet", await bearer(claims));
    expect([answer.status, answer.headers.get("error-code"), await answer.json()]).toEqual([
      401,
      "USER_REQUIRED",
      { error: "A valid user token is required" },
    ]);
  }
  const told = (await here("auth.failed")).map(({ reason, detail, count }) => [reason, detail, count]);
  expect(told.toSorted()).toEqual([
    ["token", "exp-missing", 2],
    ["token", "iat-missing", 1],
    ["token", "life-too-long", 1],
  ]);
  const rows = await tenant.backend.sql`select * from security_event`;
  expect(JSON.stringify([rows, lines])).not.toMatch(/usr_secret|eyJ/);
});

test("a webhook whose signature does not hold is told by its route", async () => {
  await call("POST", `/payments/inbound/${TENANT}`, { "x-signature": "0".repeat(64) }, "{}");
  expect(await here("auth.failed")).toMatchObject([
    { reason: "signature", fingerprint: null, route: "/payments/inbound/:tenantId" },
  ]);
});

test("a public key where an admin key is needed is a role denied, and other refusals are nothing", async () => {
  await expectRefusal(await call("GET", "/v1/keys", { "x-api-key": PUBLIC_KEY }), 403, "FORBIDDEN");
  await expectRefusal(await call("GET", "/v1/markets/none", { "x-api-key": PUBLIC_KEY }), 404, "MARKET_NOT_FOUND");
  await expectRefusal(await call("GET", "/v1/nothing"), 404, "NOT_FOUND");
  expect(await here("role.denied")).toMatchObject([{ keyName: "web", route: "/v1/keys", count: 1 }]);
  expect((await list("?limit=200")).entries.filter((entry) => entry.address === address)).toHaveLength(1);
});

test("a key beyond its scopes or its networks is told by its name, and is not used", async () => {
  const create = async (terms: object) => {
    const body = JSON.stringify({ type: "admin", ...terms });
    const { key } = (await (await call("POST", "/v1/keys", { "x-api-key": ADMIN_KEY }, body)).json()) as {
      key: string;
    };
    return { "x-api-key": key };
  };
  const reader = await create({ name: "reader", scopes: ["read"] });
  const office = await create({ name: "office", from: ["10.0.0.0/8"] });
  await expectRefusal(await call("POST", "/v1/users/sue/restrict", reader, "{}"), 403, "SCOPE_REQUIRED");
  await expectRefusal(await call("GET", "/v1/keys", office), 401, "KEY_INVALID");
  expect(await here("scope.denied")).toMatchObject([{ keyName: "reader", route: "/v1/users/:id/restrict", count: 1 }]);
  expect(await here("auth.failed")).toMatchObject([
    { reason: "network", keyName: "office", fingerprint: printOf(office["x-api-key"]) },
  ]);
  expect((await here("key.used")).map(({ keyName }) => keyName).sort()).toEqual(["ops", "reader"]);
});

test("an apply whose work is beyond the key's scopes is told like any other operation", async () => {
  const body = JSON.stringify({ name: "limits", type: "admin", scopes: ["config"] });
  const made = await call("POST", "/v1/keys", { "x-api-key": ADMIN_KEY }, body);
  const limits = { "x-api-key": ((await made.json()) as { key: string }).key };
  const raised = JSON.stringify(configInput({ capitalUsd: 1_000_000 }));
  await expectRefusal(await call("POST", "/v1/config", limits, raised), 403, "SCOPE_REQUIRED");
  expect(await here("scope.denied")).toMatchObject([
    { keyName: "limits", fingerprint: printOf(limits["x-api-key"]), route: "/v1/config", count: 1 },
  ]);
});

test("the use of an admin key is told once per key, address and hour", async () => {
  for (let attempt = 0; attempt < 3; attempt++) await call("GET", "/v1/keys", { "x-api-key": ADMIN_KEY });
  const used = await here("key.used");
  expect(used.map(({ count }) => count)).toEqual(used.length === 2 ? [1, 1] : [1]);
  expect(used[0]).toMatchObject({ keyName: "ops", fingerprint: printOf(ADMIN_KEY), count: 1 });
});

test("sessions that end are told, and what does not hold", async () => {
  const token = await userToken({ sub: "sam" });
  const revoke = (body: object) =>
    call("POST", "/v1/users/sam/revoke", { "x-api-key": ADMIN_KEY }, JSON.stringify(body));
  for (let attempt = 0; attempt < 2; attempt++)
    await call("DELETE", "/v1/session", { "x-api-key": PUBLIC_KEY, authorization: `Bearer ${token}` });
  // What moves nothing ends nothing.
  for (const body of [{}, { revokeBefore: "2020-01-01T00:00:00Z" }]) expect((await revoke(body)).status).toBe(200);
  const told = await here("session.revoked");
  expect(told.map(({ reason, keyName, count }) => [reason, keyName, count]).sort()).toEqual([
    ["logout", "web", 1],
    ["operator", "ops", 1],
  ]);
  await tenant.backend.sql`update account set balance_micro = balance_micro + 1 where id = 'treasury'`;
  await call("POST", "/v1/reconcile", { "x-api-key": ADMIN_KEY }, "{}");
  await tenant.backend.sql`update account set balance_micro = balance_micro - 1 where id = 'treasury'`;
  expect(await here("integrity.failed")).toMatchObject([{ reason: "reconciliation", route: "/v1/reconcile" }]);
});

test("pages go on where they ended, newest first, by event and time", async () => {
  const at = Date.now() - 1000;
  for (let n = 0; n < 5; n++)
    await fetch(`${tenant.url}/v1/keys`, { headers: { "x-api-key": "sk_x", "x-forwarded-for": `198.51.100.${n}` } });
  const query = `?event=auth.failed&since=${new Date(at).toISOString()}&limit=2`;
  const seen: Entry[] = [];
  let cursor: string | null = null;
  do {
    const page: WireResult<"listSecurityEvents"> = await list(query + (cursor === null ? "" : `&cursor=${cursor}`));
    seen.push(...page.entries);
    cursor = page.cursor;
  } while (cursor !== null && seen.length < 100);
  expect(seen.map(({ ts }) => ts)).toEqual(
    seen
      .map(({ ts }) => ts)
      .sort()
      .reverse(),
  );
  expect(seen.filter((entry) => entry.address?.startsWith("198.51.100."))).toHaveLength(5);
  const admin = { "x-api-key": ADMIN_KEY };
  const { cursor: other } = await list("?limit=1");
  for (const bad of [`?event=auth.failed&cursor=${other}`, "?cursor=x", "?event=nothing", "?since=24h", "?limit=201"])
    await expectRefusal(await call("GET", `/v1/audit/security${bad}`, admin), 400, "BAD_REQUEST");
  await expectRefusal(await call("GET", "/v1/audit/security", { "x-api-key": PUBLIC_KEY }), 403, "FORBIDDEN");
});

test("a locked table slows no request down", async () => {
  const { backend } = tenant;
  const lock = await backend.sql.reserve();
  await lock`begin`;
  await lock`set local idle_in_transaction_session_timeout = 0`;
  await lock`lock table security_event in access exclusive mode`;
  const elapsed = ownTime();
  for (let attempt = 0; attempt < 20; attempt++) await call("GET", "/v1/keys", { "x-api-key": "sk_wrong" });
  expect(elapsed()).toBeLessThan(1500);
  await lock`commit`;
  lock.release();
  expect((await here("auth.failed")).reduce((sum, { count }) => sum + count, 0)).toBe(20);
});

test("what was kept for its time is forgotten", async () => {
  const { backend, services } = tenant;
  const day = 24 * 3_600_000;
  const insert = (id: string, ts: number) => backend.sql`
    insert into security_event (id, ts, event, reason, count) values (${id}, ${ts}, 'auth.failed', 'key', 1)`;
  await insert("old", Date.now() - 91 * day);
  await insert("young", Date.now() - 89 * day);
  await forgetOldSecurityEvents(services.pool);
  expect(await backend.sql`select id from security_event where id in ('old', 'young')`).toEqual([{ id: "young" }]);
});
