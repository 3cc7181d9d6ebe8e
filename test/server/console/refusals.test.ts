import { beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import type { Operation } from "../../../src/contract/operation.ts";
import { operationIds, operations } from "../../../src/contract/operations.ts";
import { CONSOLE, type ConsoleAnswer, ConsoleClient } from "../support/console.ts";
import { tenantOfTests } from "../support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, requestOf, userToken } from "../support/harness.ts";

const tenant = tenantOfTests({
  console: CONSOLE,
  rateLimit: { perMinute: 3, adminPerMinute: 100_000 },
  corsOrigins: ["https://news.example"],
});
let operator: ConsoleClient;
beforeAll(async () => {
  operator = new ConsoleClient(tenant.server.opsUrl);
  expect((await operator.signIn()).status).toBe(200);
});

const codeOf = ({ status, headers }: ConsoleAnswer) => [status, headers.get("error-code")];
const ORIGIN = [403, "ORIGIN_FORBIDDEN"];
const SESSION = [401, "SESSION_REQUIRED"];
const CSRF = [403, "CSRF_INVALID"];
const FORBIDDEN = [403, "FORBIDDEN"];
const NOT_FOUND = [404, "NOT_FOUND"];
const BAD_REQUEST = [400, "BAD_REQUEST"];
type Headers = Record<string, string | null>;

const read = (headers: Headers = {}) => operator.get("/console/api/v1/markets", headers);
const change = (headers: Headers = {}) =>
  operator.send("PUT", "/console/api/v1/policy", { body: { feeBps: 150 }, headers });
const STRANGER = { cookie: null };
const EVIL = "http://evil.example";

describe("who may send a request", () => {
  test.each<[string, Headers, unknown]>([
    ["a name that is not the console's, before all else", { host: "evil.example", origin: EVIL, ...STRANGER }, ORIGIN],
    ["another page, before the session", { origin: EVIL, ...STRANGER }, ORIGIN],
    ["a page without an origin", { origin: "null" }, ORIGIN],
    ["another scheme", { origin: "https://127.0.0.1" }, ORIGIN],
    ["a page that the API admits", { origin: "https://news.example" }, ORIGIN],
    ["a cross-site page", { "sec-fetch-site": "cross-site" }, ORIGIN],
    ["a page of a neighbouring host", { "sec-fetch-site": "same-site" }, ORIGIN],
    ["an address that a person typed, which is no page", { "sec-fetch-site": "none" }, ORIGIN],
    ["nobody in particular", STRANGER, SESSION],
    ["a session that nobody opened", { cookie: `__Host-pm_console_acme=${"A".repeat(43)}` }, SESSION],
  ])("%s is refused, for reads and for changes", async (_who, headers, expected) => {
    expect(codeOf(await read(headers))).toEqual(expected);
    expect(codeOf(await change(headers))).toEqual(expected);
    expect(codeOf(await operator.send("DELETE", "/console/session", { headers }))).toEqual(expected);
  });

  test("a change states its origin; a read need not, nor need a client state how it relates to the page", async () => {
    expect(codeOf(await change({ origin: null }))).toEqual(ORIGIN);
    expect((await read({ origin: null, "sec-fetch-site": null })).status).toBe(200);
    expect((await read({ origin: operator.origin })).status).toBe(200);
    expect((await change({ "sec-fetch-site": null })).status).toBe(200);
    // Each loopback name is an origin of its own.
    const { port } = new URL(operator.origin);
    expect(codeOf(await change({ origin: `http://localhost:${port}` }))).toEqual(ORIGIN);
    expect((await change({ host: `localhost:${port}`, origin: `http://localhost:${port}` })).status).toBe(200);
  });

  test("keys and tokens count for nothing", async () => {
    for (const key of [ADMIN_KEY, PUBLIC_KEY])
      expect(codeOf(await read({ ...STRANGER, "x-api-key": key, authorization: `Bearer ${key}` }))).toEqual(SESSION);
    const others = { "x-api-key": "sk_unknown", authorization: `Bearer ${await userToken()}` };
    expect((await read(others)).status).toBe(200);
    expect((await change(others)).status).toBe(200);
  });

  test("a change needs the token of this very session, which follows the session and precedes everything else", async () => {
    const second = new ConsoleClient(tenant.server.opsUrl);
    await second.signIn();
    expect(second.csrf).not.toBe(operator.csrf);
    for (const token of [null, "", "x", second.csrf ?? "", `${operator.csrf}, ${operator.csrf}`]) {
      const headers = { "x-csrf-token": token };
      expect(codeOf(await change(headers))).toEqual(CSRF);
      expect(codeOf(await operator.send("DELETE", "/console/session", { headers }))).toEqual(CSRF);
      expect(
        codeOf(await operator.post("/console/api/v1/markets", {}, { ...headers, "idempotency-key": null })),
      ).toEqual(CSRF);
      expect(codeOf(await operator.post("/console/api/v1/trade", {}, headers))).toEqual(CSRF);
    }
    expect((await operator.get("/console/session")).status).toBe(200);
  });

  test("signing in needs no token, and an origin all the same", async () => {
    const fresh = new ConsoleClient(tenant.server.opsUrl);
    for (const headers of [
      { origin: null },
      { origin: EVIL },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "none" },
    ])
      expect(codeOf(await fresh.post("/console/session", { key: ADMIN_KEY }, headers))).toEqual(ORIGIN);
    expect((await fresh.signIn()).status).toBe(200);
  });
});

describe("the operations", () => {
  const rows = operationIds.map((id) => [id, operations[id] as Operation] as const);
  const isOperators = ({ auth }: Operation) => auth === "admin" || auth === "public" || auth === "none";
  const send = (operation: Operation, headers: Headers = {}) => {
    const { path, init } = requestOf(operation);
    return operator.send(operation.method, `/console/api${path}`, {
      ...(init.body ? { body: init.body } : {}),
      headers,
    });
  };

  test.each(rows)("%s needs a session, and answers operators as the API answers their key", async (id, operation) => {
    expect(codeOf(await send(operation, STRANGER))).toEqual(SESSION);
    if (operation.method !== "GET") expect(codeOf(await send(operation, { "x-csrf-token": null }))).toEqual(CSRF);
    if (operation.method === "POST" && (operation.writes || id === "sweepOracle") && isOperators(operation))
      expect(codeOf(await send(operation, { "idempotency-key": null }))).toEqual(BAD_REQUEST);
    const answer = await send(operation);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.has("ratelimit-limit")).toBe(false);
    expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    if (!isOperators(operation) || id === "deleteSession") expect(codeOf(answer)).toEqual(FORBIDDEN);
    else if (operation.method !== "GET") expect(answer.body.error).not.toBe("Not found");
    else {
      const byKey = await fetch(tenant.url + requestOf(operation).path, { headers: { "x-api-key": ADMIN_KEY } });
      expect([answer.status, answer.headers.get("etag")]).toEqual([byKey.status, byKey.headers.get("etag")]);
    }
    expect(answer.status).not.toBe(500);
  });

  test("what is no operation is missing, and so is an operation with another method; no page of another origin is let in", async () => {
    for (const path of [
      "/console/api",
      "/console/api/",
      "/console/api/v1",
      "/console/api/docs",
      "/console/api/v1/markets/",
      "/console/api/console/session",
    ])
      expect([path, ...codeOf(await operator.get(path))]).toEqual([path, ...NOT_FOUND]);
    expect(codeOf(await operator.send("DELETE", "/console/api/v1/markets"))).toEqual(NOT_FOUND);
    const headers = { origin: EVIL, "access-control-request-method": "PUT" };
    for (const path of ["/console/session", "/console/api/v1/policy", "/console/"]) {
      const answer = await operator.send("OPTIONS", path, { headers });
      expect(codeOf(answer)).toEqual(ORIGIN);
      expect(answer.headers.has("access-control-allow-origin")).toBe(false);
    }
  });

  test("a key's scopes hold as in the API", async () => {
    const { key } = await localApi(tenant.services.handlers, { actor: "cli:test" }).createKey({
      type: "admin",
      name: "reader",
      scopes: ["read"],
    });
    const reader = new ConsoleClient(tenant.server.opsUrl);
    expect((await reader.signIn(key ?? "")).body).toMatchObject({ actor: "admin:reader", scopes: ["read"] });
    expect((await reader.get("/console/api/v1/policy")).status).toBe(200);
    const refused = await reader.send("PUT", "/console/api/v1/policy", { body: { feeBps: 1 } });
    expect(codeOf(refused)).toEqual([403, "SCOPE_REQUIRED"]);
    // Scopes come before the Idempotency-Key, as before every other input.
    expect(codeOf(await reader.post("/console/api/v1/markets", {}, { "idempotency-key": null }))).toEqual([
      403,
      "SCOPE_REQUIRED",
    ]);
  });

  test("an Idempotency-Key is used once, and the reason and the conditions are those of the API", async () => {
    const body = {
      question: "Will it snow?",
      category: "weather",
      kind: "lmsr",
      p0: 0.5,
      closeAt: new Date(Date.now() + 3_600_000).toISOString(),
      resolutionRef: "the weather office",
    };
    const headers = { "idempotency-key": "once", "audit-reason": "asked by the desk" };
    const [first, second] = [
      await operator.post("/console/api/v1/markets", body, headers),
      await operator.post("/console/api/v1/markets", body, headers),
    ];
    expect(first.status).toBe(200);
    expect(second.body).toEqual(first.body);
    expect(await tenant.audit("market.created")).toMatchObject([
      { actor: "admin:ops", payload: { reason: "asked by the desk" } },
    ]);
    const tag = (await operator.get("/console/api/v1/policy")).headers.get("etag") ?? "";
    expect((await change({ "if-match": tag })).status).toBe(200);
    expect(
      codeOf(
        await operator.send("PUT", "/console/api/v1/policy", { body: { feeBps: 199 }, headers: { "if-match": '"x"' } }),
      ),
    ).toEqual([400, "PRECONDITION_FAILED"]);
  });
});
