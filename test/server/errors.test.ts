import { pino } from "pino";
import { beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, serve, userToken } from "./support/harness.ts";
import { expectCommonHeaders, expectRefusal } from "./support/requests.ts";

let authorization: string;
const logged: string[] = [];

const handlers = {
  getHealth: async () => ({ ok: true, service: "acme", db: true, uptimeSec: 1 }),
  getMarket: async ({ id }: { id: string }) => {
    if (id === "crash") throw new TypeError("select * from secrets at /srv/app.ts");
    if (id === "outage")
      throw new Fault("DATABASE_UNAVAILABLE", "The database is away", { cause: new Error("10.0.0.3") });
    if (id === "busy") throw new Fault("OVERLOADED", "Too many trades are waiting", { retryAfterSec: 3 });
    throw new Fault("MARKET_NOT_FOUND", `Market not found${id.startsWith("echo") ? `: ${id}` : ""}`);
  },
  createMarket: async () => {
    throw new Fault("TREASURY_INSUFFICIENT", "The treasury cannot fund it");
  },
  placeTrade: async () => {
    throw new Fault("INSUFFICIENT_FUNDS", "Not enough funds");
  },
  listMarkets: async () => ({ items: [], nextCursor: null }),
} as unknown as Handlers;

const log = pino({}, { write: (line: string) => void logged.push(line) });
const { backend, server } = serverOfTests(handlers, { log });
beforeAll(async () => {
  authorization = `Bearer ${await userToken()}`;
});

const get = (path: string, headers: Record<string, string> = { "x-api-key": PUBLIC_KEY }) =>
  fetch(server.url + path, { headers });

describe("refusals", () => {
  test("carry the handler's message, code and status", async () => {
    await expectRefusal(await get("/v1/markets/x"), 404, "MARKET_NOT_FOUND", "Market not found");
  });

  test("of an overloaded service say when to come back", async () => {
    const response = await get("/v1/markets/busy");
    expect(response.headers.get("retry-after")).toBe("3");
    await expectRefusal(response, 429, "OVERLOADED");
  });

  test("of the unexpected tell the log everything and the caller nothing", async () => {
    logged.length = 0;
    const secrets = { "x-api-key": PUBLIC_KEY, authorization, cookie: "session=crumb", "x-signature": "hex" };
    const response = await get("/v1/markets/crash", secrets);
    const requestId = response.headers.get("request-id");
    await expectRefusal(response, 500, "INTERNAL", "Unexpected failure");
    expect(logged).toHaveLength(1);
    expect(JSON.parse(logged[0] ?? "")).toMatchObject({ requestId, err: { stack: expect.stringContaining("app.ts") } });
    for (const secret of Object.values(secrets)) expect(logged[0]).not.toContain(`"${secret}"`);
  });

  test("that we expect to be possible keep their message, and their cause stays in the log", async () => {
    logged.length = 0;
    await expectRefusal(await get("/v1/markets/outage"), 500, "DATABASE_UNAVAILABLE", "The database is away");
    expect(logged[0]).toContain("10.0.0.3");
  });

  test("of ordinary requests are not logged", async () => {
    logged.length = 0;
    await get("/v1/markets/x");
    await get("/v1/markets/x", {});
    expect(logged).toEqual([]);
  });
});

describe("what is not served is 404 before any key is looked at", () => {
  test.each([
    ["GET", "/"],
    ["GET", "/v1"],
    ["GET", "/v1/nothing?secret=1"],
    ["GET", "/v2/markets"],
    ["GET", "/v1/markets/x/y/z"],
    ["POST", "/v1/markets/x"],
    ["DELETE", "/v1/markets/x"],
    ["PATCH", "/v1/trade"],
    ["GET", "/v1/trade"],
    ["PUT", "/health"],
    ["QUERY", "/v1/markets"],
    ["GET", "/v1/policy"],
    ["GET", "/v1/%zz"],
    ["GET", "/%c0%ae%c0%ae/etc/passwd"],
    ["GET", "/<script>alert(1)</script>"],
  ])("%s %s", async (method, path) => {
    await expectRefusal(await fetch(server.url + path, { method }), 404, "NOT_FOUND", "Not found");
  });

  test("HEAD, without a body", async () => {
    const response = await fetch(`${server.url}/v1/markets`, { method: "HEAD" });
    expect([response.status, response.headers.get("error-code")]).toEqual([401, "KEY_INVALID"]);
    expect(await response.text()).toBe("");
    expectCommonHeaders(response.headers);
  });
});

describe("the order of refusal", () => {
  test("credentials come before the shape, the shape before the handler", async () => {
    const init = { method: "POST", body: "{" };
    await expectRefusal(await fetch(`${server.url}/v1/markets`, init), 401, "KEY_INVALID");
    const withKey = { ...init, headers: { "x-api-key": PUBLIC_KEY } };
    await expectRefusal(await fetch(`${server.url}/v1/markets`, withKey), 403, "FORBIDDEN");
    const withAdmin = { ...init, headers: { "x-api-key": ADMIN_KEY } };
    await expectRefusal(await fetch(`${server.url}/v1/markets`, withAdmin), 400, "BAD_REQUEST");
    await expectRefusal(await fetch(`${server.url}/v1/trade`, withKey), 401, "USER_REQUIRED");
  });
});

describe("paths and queries", () => {
  test("segments are decoded once", async () => {
    const response = await get("/v1/markets/echo%2F%25252e%20x");
    expect(await response.json()).toEqual({ error: "Market not found: echo/%252e x" });
  });

  test.each(["/v1/markets/%zz", "/v1/markets/%ff", "/v1/markets/%00", `/v1/markets/${"x".repeat(65)}`])(
    "%s is 400",
    async (path) => {
      await expectRefusal(await get(path), 400, "BAD_REQUEST");
    },
  );

  test.each(["limit=1&limit=2", "limit=0", "limit=201", "limit=x", "kind=amm", "category=a/b", "q=%00", "cursor="])(
    "GET /v1/markets?%s is 400",
    async (query) => {
      await expectRefusal(await get(`/v1/markets?${query}`), 400, "BAD_REQUEST");
    },
  );

  test("unknown parameters are ignored", async () => {
    expect((await get("/v1/markets?utm=1&__proto__=x&limit=2")).status).toBe(200);
  });
});

test("answers and their pages carry the headers that every response does", async () => {
  const paging = await serve(backend, {
    listMarkets: async ({ cursor }) => ({ items: [], nextCursor: cursor === undefined ? "a+b/c=" : null }),
  });
  const headers = { "x-api-key": PUBLIC_KEY };
  const first = await fetch(`${paging.url}/v1/markets?kind=cpmm&limit=1`, { headers });
  expectCommonHeaders(first.headers, "no-cache");
  expect(first.headers.get("next-cursor")).toBe("a+b/c=");
  const link = /^<([^>]+)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1];
  expect(link).toBe("/v1/markets?kind=cpmm&limit=1&cursor=a%2Bb%2Fc%3D");
  const last = await fetch(paging.url + link, { headers });
  expect([last.status, last.headers.get("next-cursor"), last.headers.get("link")]).toEqual([200, null, null]);
  await paging.close();
});

test("requests that share a page have one body, and each the link that repeats its own words", async () => {
  const item = { id: "mkt_1", question: "Größer als 100 €?", category: "crypto", kind: "cpmm", yesPrice: 0.5 } as const;
  const page = { items: [{ ...item, volume24h: 0n, closeAt: 0 }], nextCursor: "abc" };
  const sharing = await serve(backend, { listMarkets: async () => page });
  const ask = async (query: string, method = "GET") => {
    const answer = await fetch(`${sharing.url}/v1/markets${query}`, { method, headers: { "x-api-key": PUBLIC_KEY } });
    const { link, "content-length": length } = Object.fromEntries(answer.headers);
    return { status: answer.status, link, length, body: await answer.text() };
  };
  const plain = await ask("");
  expect(plain.link).toBe('</v1/markets?cursor=abc>; rel="next"');
  expect(plain.length).toBe(String(Buffer.byteLength(plain.body)));
  expect(JSON.parse(plain.body)).toMatchObject([{ question: "Größer als 100 €?" }]);
  expect(await ask("?kind=cpmm")).toEqual({ ...plain, link: '</v1/markets?kind=cpmm&cursor=abc>; rel="next"' });
  expect(await ask("")).toEqual(plain);
  expect(await ask("", "HEAD")).toEqual({ ...plain, body: "" });
  for (const _ of [1, 2]) expect((await ask("?limit=0")).status).toBe(400);
  await sharing.close();
});

test("health answers with its usual body when it is bad", async () => {
  const sick = await serve(backend, {
    getHealth: async () => ({ ok: false, service: "acme", db: false, uptimeSec: 1 }),
  });
  const response = await fetch(`${sick.url}/health`);
  expect([response.status, await response.json()]).toEqual([
    503,
    { ok: false, service: "acme", db: false, uptimeSec: 1 },
  ]);
  await sick.close();
});
