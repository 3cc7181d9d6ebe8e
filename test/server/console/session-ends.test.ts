import { describe, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import { ageSession, CONSOLE, ConsoleClient } from "../support/console.ts";
import { tenantOfTests } from "../support/during-tests.ts";
import { serveServices } from "../support/harness.ts";

const { idleMs, absoluteMs } = CONSOLE.session;
const tenant = tenantOfTests({ console: CONSOLE });
const serve = (session: Partial<typeof CONSOLE.session> = {}) =>
  serveServices(tenant.services, {
    pool: tenant.backend.pool,
    console: { ...CONSOLE, session: { ...CONSOLE.session, ...session } },
  });
const statusOf = async (client: ConsoleClient, path = "/console/session", headers = {}) =>
  (await client.get(path, headers)).status;
/** The answer to a request that comes so much later, at a server that does not remember the last one. */
const statusAfter = async ({ cookie }: ConsoleClient, ms: number, headers = {}) => {
  const server = await serve();
  const client = Object.assign(new ConsoleClient(server.opsUrl), { cookie });
  await ageSession(tenant.backend, client, ms);
  const status = await statusOf(client, "/console/api/v1/policy", headers);
  await server.close();
  return status;
};
const lastEnd = async () => (await tenant.audit("console.ended")).at(-1);
const admin = () => localApi(tenant.services.handlers, { actor: "cli:test" });

describe("a session ends", () => {
  test("when a person sends nothing for the idle time; refreshes of the page and its stream are no use of it", async () => {
    const client = new ConsoleClient(tenant.server.opsUrl);
    await client.signIn();
    const stream = await fetch(`${tenant.server.opsUrl}/console/api/v1/stream`, {
      headers: { cookie: client.cookie ?? "" },
    });
    expect(stream.status).toBe(200);
    // Used now and then, it outlives the idle time.
    for (let turn = 1; turn <= 3; turn += 1) {
      expect(await statusAfter(client, 0.7 * idleMs)).toBe(200);
      // The use is stored without keeping the answer waiting.
      const seen = async () => (await tenant.backend.sql`select max(last_seen_at)::text as at from console_session`)[0];
      await expect.poll(async () => Date.now() - Number((await seen())?.at)).toBeLessThan(0.5 * idleMs);
    }
    const refresh = { "x-background": "1" };
    expect(await statusAfter(client, 0.7 * idleMs, refresh)).toBe(200);
    expect(await statusAfter(client, 0.4 * idleMs, refresh)).toBe(401);
    expect(await statusOf(client)).toBe(401);
    expect(await lastEnd()).toEqual({ type: "console.ended", actor: "admin:ops", payload: { cause: "idle" } });
    await stream.body?.cancel();
  });

  test("at its absolute end, however much it is used", async () => {
    const server = await serve({ idleMs: absoluteMs });
    const client = new ConsoleClient(server.opsUrl);
    const { body } = await client.signIn();
    expect(body.idleEndsAt).toBe(body.endsAt);
    await ageSession(tenant.backend, client, absoluteMs - 60_000);
    expect(await statusOf(client)).toBe(200);
    await ageSession(tenant.backend, client, 60_000);
    expect(await statusOf(client)).toBe(401);
    expect((await lastEnd())?.payload).toEqual({ cause: "absolute" });
    await server.close();
  });

  test("with the next request after its key was revoked, and at no other key", async () => {
    const { key } = await admin().createKey({ type: "admin", name: "second" });
    const [client, other] = [new ConsoleClient(tenant.server.opsUrl), new ConsoleClient(tenant.server.opsUrl)];
    expect((await client.signIn(key ?? "")).status).toBe(200);
    await other.signIn();
    expect(await statusOf(client, "/console/api/v1/policy")).toBe(200);
    await admin().revokeKey({ name: "second", type: "admin" });
    expect(await statusOf(client, "/console/api/v1/policy")).toBe(401);
    expect(await statusOf(other)).toBe(200);
    expect(await lastEnd()).toEqual({ type: "console.ended", actor: "admin:second", payload: { cause: "key" } });
  });

  test("with its own key's revocation by itself", async () => {
    const { key } = await admin().createKey({ type: "admin", name: "third" });
    const client = new ConsoleClient(tenant.server.opsUrl);
    await client.signIn(key ?? "");
    await admin().revokeKey({ name: "third", type: "admin" });
    expect(await statusOf(client)).toBe(401);
    expect((await client.signIn(key ?? "")).status).toBe(401);
  });

  test("when its key expires", async () => {
    const expiresAt = new Date(Date.now() + 4_000).toISOString();
    const { key } = await admin().createKey({ type: "admin", name: "short", expiresAt });
    const client = new ConsoleClient(tenant.server.opsUrl);
    expect((await client.signIn(key ?? "")).status).toBe(200);
    await expect.poll(() => statusOf(client), { interval: 200, timeout: 60_000 }).toBe(401);
    expect(Date.now()).toBeGreaterThan(Date.parse(expiresAt) - 100);
    expect(await lastEnd()).toEqual({ type: "console.ended", actor: "admin:short", payload: { cause: "key" } });
  });

  test("once: many requests at its end leave one entry", async () => {
    const client = new ConsoleClient(tenant.server.opsUrl);
    await client.signIn();
    await ageSession(tenant.backend, client, absoluteMs);
    const before = (await tenant.audit("console.ended")).length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => statusOf(client)));
    expect(new Set(answers)).toEqual(new Set([401]));
    expect((await tenant.audit("console.ended")).length).toBe(before + 1);
  });
});

describe("the servers of a tenant", () => {
  test("share its sessions: what one opens counts at the other, and so does a sign-out", async () => {
    const second = await serve();
    const here = new ConsoleClient(tenant.server.opsUrl);
    const there = new ConsoleClient(second.opsUrl);
    await here.signIn();
    Object.assign(there, { cookie: here.cookie, csrf: here.csrf });
    expect((await there.get("/console/session")).body).toMatchObject({ actor: "admin:ops", csrfToken: here.csrf });
    expect((await there.send("PUT", "/console/api/v1/policy", { body: { feeBps: 120 } })).status).toBe(200);
    expect((await there.send("DELETE", "/console/session")).status).toBe(200);
    expect(await statusOf(here)).toBe(401);
    await second.close();
  });

  test("keep sessions over a restart", async () => {
    const first = await serve();
    const client = new ConsoleClient(first.opsUrl);
    await client.signIn();
    await first.close();
    const again = await serve();
    const later = new ConsoleClient(again.opsUrl);
    Object.assign(later, { cookie: client.cookie, csrf: client.csrf });
    expect(await statusOf(later)).toBe(200);
    expect((await later.send("PUT", "/console/api/v1/policy", { body: { feeBps: 130 } })).status).toBe(200);
    await again.close();
  });

  test("believe no session that the audit key has not sealed", async () => {
    const client = new ConsoleClient(tenant.server.opsUrl);
    await client.signIn();
    const { sql } = tenant.backend;
    const ended = { sha256: "f".repeat(64) };
    await sql`
      insert into console_session (sha256, key_hash, key_name, created_at, ends_at, ended_at, seal)
      select ${ended.sha256}, key_hash, key_name, created_at, ends_at, null, seal from console_session where ended_at is null limit 1`;
    const rows = await sql`select count(*)::int as open from console_session where ended_at is null`;
    expect(rows[0]?.open).toBeGreaterThan(1);
    await sql`update console_session set ends_at = ends_at + 1000 where ended_at is null`;
    expect(await statusOf(client)).toBe(401);
    await sql`update console_session set ends_at = ends_at - 1000 where ended_at is null`;
    expect(await statusOf(client)).toBe(200);
    await sql`delete from console_session where sha256 = ${ended.sha256}`;
  });
});
