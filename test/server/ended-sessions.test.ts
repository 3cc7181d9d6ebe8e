import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { Pool } from "../../src/postgres/pool.ts";
import { EndedSessions, type RecordEnd } from "../../src/server/access/ended-sessions.ts";
import type { RunningServer } from "../../src/server/server.ts";
import { ownTime } from "../support/own-time.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, insertKey, PUBLIC_KEY, serve, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const tenant = tenantOfTests();
/** Another server of the same tenant. */
let other: RunningServer;
let nextUser = 0;
beforeAll(async () => {
  const { backend, services } = tenant;
  other = await serve(backend, services.handlers, { services, isDatabaseUp: services.isDatabaseUp });
});
afterAll(async () => {
  await other.close();
});

const call = (url: string, method: string, path: string, headers: Record<string, string>, body?: object) =>
  fetch(url + path, {
    method,
    headers: { "x-api-key": PUBLIC_KEY, "content-type": "application/json", ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const cookie = (token: string) => ({ cookie: `__Host-pm_session=${token}`, "sec-fetch-site": "same-origin" });
const wallet = (url: string, credentials: Record<string, string>) => call(url, "GET", "/v1/wallet", credentials);
const revoke = (user: string, body: object = {}) =>
  call(tenant.url, "POST", `/v1/users/${user}/revoke`, { "x-api-key": ADMIN_KEY }, body);
const seconds = (ms: number) => Math.floor(ms / 1000);
const newUser = () => {
  nextUser += 1;
  return `user-${nextUser}`;
};

/** Within the second that is promised. */
async function expectEnded(url: string, credentials: Record<string, string>): Promise<void> {
  const elapsed = ownTime();
  for (;;) {
    const response = await wallet(url, credentials);
    if (response.status === 401 || elapsed() > 1000) {
      await expectRefusal(response, 401, "USER_REQUIRED");
      return;
    }
    await delay(50);
  }
}

test("a session that its user ends is over at every server, in the cookie and in the header", async () => {
  const token = await userToken({ sub: newUser() });
  for (const url of [tenant.url, other.url]) {
    expect((await wallet(url, bearer(token))).status).toBe(200);
    expect((await wallet(url, cookie(token))).status).toBe(200);
  }
  const ended = await call(tenant.url, "DELETE", "/v1/session", cookie(token));
  expect([ended.status, await ended.json()]).toEqual([200, { ended: true }]);
  for (const credentials of [bearer(token), cookie(token)]) {
    await expectRefusal(await wallet(tenant.url, credentials), 401, "USER_REQUIRED");
    await expectEnded(other.url, credentials);
  }
  await expectRefusal(await call(other.url, "POST", "/v1/session", bearer(token)), 401, "USER_REQUIRED");
  const failures = await call(other.url, "GET", "/v1/audit/security?event=auth.failed", { "x-api-key": ADMIN_KEY });
  expect(await failures.json()).toMatchObject({ entries: [{ reason: "token", detail: "session-ended" }] });
});

test("a token in the header is ended like one in the cookie, and another of the same user is not", async () => {
  const sub = newUser();
  const [one, two] = [await userToken({ sub, jti: 1 }), await userToken({ sub, jti: 2 })];
  expect((await call(tenant.url, "DELETE", "/v1/session", bearer(one))).status).toBe(200);
  await expectRefusal(await wallet(tenant.url, bearer(one)), 401, "USER_REQUIRED");
  expect((await wallet(tenant.url, bearer(two))).status).toBe(200);
});

test("an ended token written with the spare bits of its signature is ended too", async () => {
  const token = await userToken({ sub: newUser() });
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  // 32 bytes are 43 characters, of whose last one four bits count.
  const spelling = token.replace(/.$/, (last) => alphabet[alphabet.indexOf(last) ^ 1] ?? "");
  expect((await wallet(tenant.url, bearer(spelling))).status).toBe(200);
  await call(tenant.url, "DELETE", "/v1/session", bearer(token));
  await expectRefusal(await wallet(tenant.url, bearer(spelling)), 401, "USER_REQUIRED");
});

test("nothing is kept of a token that is none, and the cookie goes all the same", async () => {
  const rows = async () => (await tenant.audit("session.ended")).length;
  const before = await rows();
  const forged = await userToken({ sub: newUser() }, "another secret that is long enough for HS256");
  const expired = await userToken({ iat: 1000, exp: 2000 });
  for (const token of [forged, expired, "a.b.c"]) {
    const response = await call(tenant.url, "DELETE", "/v1/session", cookie(token));
    expect([response.status, response.headers.get("set-cookie")]).toEqual([200, expect.stringMatching(/Max-Age=0/)]);
  }
  expect(await rows()).toBe(before);
  const token = await userToken({ sub: newUser() });
  for (let attempt = 0; attempt < 3; attempt++) await call(tenant.url, "DELETE", "/v1/session", bearer(token));
  expect(await rows()).toBe(before + 1);
});

test("a server that starts later knows what was ended, and forgets it with the token", async () => {
  const { backend, services } = tenant;
  const token = await userToken({ sub: newUser() });
  await call(tenant.url, "DELETE", "/v1/session", bearer(token));
  const user = newUser();
  const revoked = await userToken({ sub: user });
  await revoke(user);
  const later = await serve(backend, services.handlers, { services, isDatabaseUp: services.isDatabaseUp });
  await expectRefusal(await wallet(later.url, bearer(token)), 401, "USER_REQUIRED");
  await expectRefusal(await wallet(later.url, bearer(revoked)), 401, "USER_REQUIRED");
  await later.close();
});

test("an operator ends all sessions of a user, and later tokens work", async () => {
  const sub = newUser();
  const now = Date.now();
  const [early, late] = [
    await userToken({ sub, iat: seconds(now) - 60 }),
    await userToken({ sub, iat: seconds(now) + 5 }),
  ];
  expect((await wallet(other.url, bearer(early))).status).toBe(200);
  const answer = await revoke(sub);
  const { userId, revokeBefore } = (await answer.json()) as { userId: string; revokeBefore: string };
  expect([answer.status, userId]).toEqual([200, sub]);
  expect(Math.abs(Date.parse(revokeBefore) - now)).toBeLessThan(5000);
  await expectRefusal(await wallet(tenant.url, bearer(early)), 401, "USER_REQUIRED");
  await expectEnded(other.url, bearer(early));
  for (const url of [tenant.url, other.url]) expect((await wallet(url, bearer(late))).status).toBe(200);
  const [entry] = (await tenant.audit("session.revoked")).filter(({ payload }) => payload.userId === sub);
  expect(entry).toEqual({ type: "session.revoked", actor: "admin:ops", payload: { userId: sub, revokeBefore } });
  const shown = await call(tenant.url, "GET", `/v1/users/${sub}`, { "x-api-key": ADMIN_KEY });
  expect(await shown.json()).toMatchObject({ userId: sub, revokeBefore });
});

test("a token is refused from the revoked instant backwards, to the second that it names", async () => {
  const sub = newUser();
  const at = seconds(Date.now()) - 100;
  await revoke(sub, { revokeBefore: new Date(at * 1000).toISOString() });
  const issued = async (iat: number) => (await wallet(tenant.url, bearer(await userToken({ sub, iat })))).status;
  expect([await issued(at - 1), await issued(at), await issued(at + 1)]).toEqual([401, 200, 200]);
});

test("a revocation never moves backwards, nor into the future, and one that changes nothing leaves no entry", async () => {
  const sub = newUser();
  const operator = localApi(tenant.services.handlers, { actor: "cli:test" });
  await tenant.deposit(sub, 1);
  expect(await operator.getUser({ id: sub })).toMatchObject({ revokeBefore: null });
  const { revokeBefore } = await operator.revokeUser({ id: sub });
  for (const earlier of ["2020-01-01T00:00:00Z", revokeBefore])
    expect(await operator.revokeUser({ id: sub, revokeBefore: earlier })).toEqual({ userId: sub, revokeBefore });
  expect((await tenant.audit("session.revoked")).filter(({ payload }) => payload.userId === sub)).toHaveLength(1);
  const ahead = new Date(Date.now() + 6 * 60_000).toISOString();
  await expectRefusal(await revoke(sub, { revokeBefore: ahead }), 400, "BAD_REQUEST");
  await expectRefusal(await revoke(sub, { revokeBefore: "yesterday" }), 400, "BAD_REQUEST");
});

test.each([
  ["ended by its user", (token: string) => call(other.url, "DELETE", "/v1/session", bearer(token))],
  ["revoked by an operator", (_: string, user: string) => revoke(user)],
])("the stream of a session that is %s ends within the second or so", async (_name, end) => {
  const sub = newUser();
  const token = await userToken({ sub });
  const streams = await Promise.all(
    [tenant.url, other.url].map((url) => call(url, "GET", "/v1/stream", bearer(token))),
  );
  const bystander = await call(tenant.url, "GET", "/v1/stream", bearer(await userToken({ sub: newUser() })));
  await delay(200);
  const elapsed = ownTime();
  expect((await end(token, sub)).status).toBe(200);
  const texts = await Promise.all(streams.map((stream) => stream.text()));
  expect(elapsed()).toBeLessThan(2000);
  for (const text of texts) expect(text).toContain('{"reason":"credentials"}');
  const reader = bystander.body?.getReader();
  const [read] = [await reader?.read()];
  expect(read?.done).toBe(false);
  await reader?.cancel();
});

test("the streams of a key that is revoked end within the second or so, here and elsewhere", async () => {
  const [gone, kept] = ["pk_gone", "pk_kept"].map((name) => `${name}-0123456789-abcdefghijklmnopqrstuvwxyz_ABCDEF`);
  for (const key of [gone, kept]) await insertKey(tenant.backend.sql, key ?? "", String(key).slice(3, 7), "public");
  const watch = (url: string, key = "") => call(url, "GET", "/v1/stream", { "x-api-key": key });
  await delay(1100);
  const streams = await Promise.all([tenant.url, other.url].map((url) => watch(url, gone)));
  const bystander = await watch(tenant.url, kept);
  expect([...streams, bystander].map(({ status }) => status)).toEqual([200, 200, 200]);
  const elapsed = ownTime();
  await localApi(tenant.services.handlers, { actor: "cli:test" }).revokeKey({ name: "gone" });
  const texts = await Promise.all(streams.map((stream) => stream.text()));
  expect(elapsed()).toBeLessThan(2500);
  for (const text of texts) expect(text).toContain('{"reason":"credentials"}');
  const reader = bystander.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  await reader?.cancel();
});

test("while the database is away what is known stays ended, and what is not known decides nothing", async () => {
  const { services } = tenant;
  let isAway = false;
  const orAway = <Value>(work: () => Promise<Value>) => (isAway ? Promise.reject(new Error("away")) : work());
  const pool: Pool = {
    ...services.pool,
    read: (ask) => orAway(() => services.pool.read(ask)),
  };
  const record: RecordEnd = ({ userId: traderId, tokenSha256, until }) =>
    orAway(() =>
      services.sequencer.submit({ command: { type: "endSession", traderId, tokenSha256, until }, actor: "user:u" }),
    );
  const ended = new EndedSessions(pool, services.isSealed, record);
  const tokenOf = (hash: string, userId: string) => ({
    hash,
    userId,
    issuedAtMs: Date.now() - 5000,
    expiresAtMs: Date.now() + 60_000,
  });
  await ended.ready();
  await ended.end(tokenOf("one", "u"));
  isAway = true;
  await expect(ended.end(tokenOf("two", "u"))).rejects.toThrow("away");
  expect(["one", "two", "three"].map((hash) => ended.has(tokenOf(hash, "u")))).toEqual([true, true, false]);
  ended.forget();
  await expect(ended.ready()).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE" });
  isAway = false;
  // What did not reach the database is said again, and then is known to all.
  await ended.end(tokenOf("two", "u"));
  const elsewhere = new EndedSessions(pool, services.isSealed, record);
  await elsewhere.ready();
  expect(elsewhere.has(tokenOf("two", "u"))).toBe(true);
});

test("what SQL does to rows and entries brings no revoked session back", async () => {
  const { backend, services } = tenant;
  const [gone, broken] = [newUser(), newUser()];
  for (const user of [gone, broken]) await revoke(user, { revokeBefore: new Date(Date.now() - 60_000).toISOString() });
  const old = { iat: seconds(Date.now()) - 120 };
  await backend.sql`delete from trader where id = ${gone}`;
  await backend.sql`
    update audit set payload = replace(payload, '202', '199') where payload like ${`%"${broken}"%`} and type = 'session.revoked'`;
  const later = await serve(backend, services.handlers, { services, isDatabaseUp: services.isDatabaseUp });
  await expectRefusal(await wallet(later.url, bearer(await userToken({ sub: gone, ...old }))), 401, "USER_REQUIRED");
  // Of an entry that was broken nothing is believed, so every token of its user is refused until another entry stands.
  const fresh = bearer(await userToken({ sub: broken, iat: seconds(Date.now()) + 10 }));
  await expectRefusal(await wallet(later.url, fresh), 401, "USER_REQUIRED");
  await revoke(broken);
  await expect.poll(async () => (await wallet(later.url, fresh)).status).toBe(200);
  await later.close();
});
