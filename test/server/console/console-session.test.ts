import { expect, test } from "vitest";
import { CONSOLE, COOKIE, ConsoleClient } from "../support/console.ts";
import { tenantOfTests } from "../support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, TENANT } from "../support/harness.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const client = () => new ConsoleClient(tenant.server.opsUrl);

test("an admin key is exchanged for a session, whose cookie scripts cannot read and whose end is on record", async () => {
  const console = client();
  expect(await console.get("/console/session")).toMatchObject({ status: 401 });
  const opened = await console.signIn();
  expect(opened.status).toBe(200);
  expect(opened.headers.get("set-cookie")).toMatch(
    new RegExp(`^${COOKIE}=[\\w-]{43}; Secure; HttpOnly; SameSite=Strict; Path=/$`),
  );
  const { createdAt, idleEndsAt, endsAt, csrfToken, ...rest } = opened.body;
  expect(rest).toEqual({ tenant: TENANT, actor: "admin:ops", scopes: ["*"] });
  expect(Date.parse(endsAt as string) - Date.parse(createdAt as string)).toBe(CONSOLE.session.absoluteMs);
  expect(Date.parse(idleEndsAt as string) - Date.parse(createdAt as string)).toBe(CONSOLE.session.idleMs);
  expect((await console.get("/console/session")).body).toMatchObject({ csrfToken, createdAt, endsAt, ...rest });

  expect(await console.send("DELETE", "/console/session")).toMatchObject({ status: 200, body: { ended: true } });
  expect(await console.get("/console/session")).toMatchObject({ status: 401 });
  expect(await tenant.audit("console.opened", "console.ended")).toEqual([
    { type: "console.opened", actor: "admin:ops", payload: { address: "127.0.0.1" } },
    { type: "console.ended", actor: "admin:ops", payload: { cause: "signed out" } },
  ]);
  expect(await tenant.isSound()).toBe(true);
});

test("an unknown key is 401, a public key 403", async () => {
  const unknown = await client().signIn("sk_unknown");
  expect([unknown.status, unknown.headers.get("error-code")]).toEqual([401, "KEY_INVALID"]);
  const known = await client().signIn(PUBLIC_KEY);
  expect([known.status, known.headers.get("error-code")]).toEqual([403, "FORBIDDEN"]);
  expect(known.headers.get("set-cookie")).toBeNull();
});

test("the operations answer as in the API, for who is signed in", async () => {
  const console = client();
  await console.signIn();
  const byKey = await fetch(`${tenant.url}/v1/policy`, { headers: { "x-api-key": ADMIN_KEY } });
  const bySession = await console.get("/console/api/v1/policy");
  expect(bySession.body).toEqual(await byKey.json());
  expect(bySession.headers.get("etag")).toBe(byKey.headers.get("etag"));
  const created = await console.post("/console/api/v1/markets", {
    question: "Will it rain?",
    category: "weather",
    kind: "lmsr",
    p0: 0.5,
    closeAt: new Date(Date.now() + 3_600_000).toISOString(),
    resolutionRef: "the weather office",
  });
  expect(created).toMatchObject({ status: 200 });
  expect(await tenant.audit("market.created")).toMatchObject([{ actor: "admin:ops" }]);
});

test("every address of a view is the same page, and its files are found", async () => {
  const page = await client().get("/console/", { "sec-fetch-site": "none" });
  expect(page.status).toBe(200);
  for (const path of ["/console", "/console/markets/mkt_1?x=1"])
    expect((await client().get(path)).text).toBe(page.text);
  for (const [, path = ""] of page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    const asset = await client().get(path);
    expect(asset.status).toBe(200);
    expect(asset.headers.get("cache-control")).toContain("immutable");
  }
});
