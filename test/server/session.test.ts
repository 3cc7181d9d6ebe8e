import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Caller, Handlers } from "../../src/services/invoke.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const callers: Caller[] = [];
const recording =
  <Answer>(answer: Answer) =>
  async (_input: unknown, caller: Caller) => {
    callers.push(caller);
    return answer;
  };
const handlers = {
  listPositions: recording([]),
  submitSuitability: recording({ score: 0, exposureCapMinor: 0, passed: true }),
} as unknown as Handlers;
const { server } = serverOfTests(handlers, {
  corsOrigins: ["https://shop.example"],
  baseUrl: "https://predict.acme.example",
});

const call = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
  fetch(server.url + path, { method, headers: { "x-api-key": PUBLIC_KEY, ...headers }, ...(body ? { body } : {}) });
const login = async (claims = {}, headers = {}) =>
  call("POST", "/v1/session", { authorization: `Bearer ${await userToken(claims)}`, ...headers });
const cookieOf = (response: Response) => response.headers.get("set-cookie")?.split(";")[0] ?? "";
const suitability = (headers: Record<string, string>) =>
  call("POST", "/v1/suitability", { "content-type": "application/json", ...headers }, '{"answers":{"a":1}}');

describe("POST /v1/session", () => {
  test("keeps the token in a cookie of this host that lives as long as the token", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const response = await login({ exp: Math.floor(Date.now() / 1000) + 600 });
    expect(await response.json()).toEqual({ userId: "usr_1", expiresAt: expect.stringMatching(/Z$/) });
    const [, ...attributes] = (response.headers.get("set-cookie") ?? "").split("; ");
    const maxAge = Number(attributes.find((one) => one.startsWith("Max-Age="))?.slice(8));
    // Whole seconds, and part of the first one is over.
    expect([599, 600]).toContain(maxAge);
    expect(cookieOf(response)).toMatch(/^__Host-pm_session=[\w.-]+$/);
    expect(attributes).toEqual(
      expect.arrayContaining(["Path=/", "Secure", "HttpOnly", "SameSite=None", "Partitioned"]),
    );
    expect(attributes.join()).not.toMatch(/Domain/i);
  });

  test("takes a bearer token only: a cookie does not renew itself", async () => {
    const cookie = cookieOf(await login());
    const headers = { cookie, origin: "https://shop.example" };
    await expectRefusal(await call("POST", "/v1/session", headers), 401, "USER_REQUIRED");
    await expectRefusal(await call("POST", "/v1/session", { "x-api-key": "", cookie }), 401, "KEY_INVALID");
  });

  test("from a page that is not listed sets nothing", async () => {
    const response = await login({}, { origin: "https://evil.example" });
    expect(response.headers.get("set-cookie")).toBeNull();
    await expectRefusal(response, 403, "ORIGIN_FORBIDDEN");
  });

  test("refuses a token that no browser would keep", async () => {
    await expectRefusal(await login({ note: "x".repeat(4000) }), 400, "BAD_REQUEST");
  });
});

describe("the cookie", () => {
  test("is the user, for reading as it comes", async () => {
    const cookie = cookieOf(await login({ sub: "usr_9", jurisdiction: "DE" }));
    expect((await call("GET", "/v1/positions", { cookie: `a=b; ${cookie}; c="d"` })).status).toBe(200);
    expect(callers.at(-1)).toEqual({ actor: "user:usr_9", user: { id: "usr_9", jurisdiction: "DE" } });
  });

  test("never replaces the key, and no key the cookie", async () => {
    const cookie = cookieOf(await login());
    await expectRefusal(await call("GET", "/v1/positions", { cookie, "x-api-key": "" }), 401, "KEY_INVALID");
    await expectRefusal(await call("GET", "/v1/positions", { "x-api-key": ADMIN_KEY }), 401, "USER_REQUIRED");
  });

  test.each<[string, Record<string, string>]>([
    ["a listed origin", { origin: "https://shop.example" }],
    ["the tenant's own address", { origin: "https://predict.acme.example" }],
    ["the same origin, as the browser says", { "sec-fetch-site": "same-origin" }],
  ])("changes something from %s", async (_name, headers) => {
    const cookie = cookieOf(await login());
    expect((await suitability({ cookie, ...headers })).status).toBe(200);
  });

  test("changes something from a page of this very host, whatever the scheme", async () => {
    const cookie = cookieOf(await login());
    expect((await suitability({ cookie, origin: `https://127.0.0.1:${server.port}` })).status).toBe(200);
  });

  test.each<[string, Record<string, string>]>([
    ["another origin", { origin: "https://evil.example" }],
    ["an origin that ends like ours", { origin: "https://predict.acme.example.evil.example" }],
    ["an opaque origin", { origin: "null" }],
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["a sibling site", { "sec-fetch-site": "same-site" }],
    ["who knows where", {}],
  ])("changes nothing from %s", async (_name, headers) => {
    const cookie = cookieOf(await login());
    const before = callers.length;
    await expectRefusal(await suitability({ cookie, ...headers }), 403, "ORIGIN_FORBIDDEN");
    expect(callers).toHaveLength(before);
  });

  test("carries no form of a hostile page", async () => {
    const cookie = cookieOf(await login());
    const headers = { cookie, origin: "https://shop.example", "content-type": "text/plain" };
    await expectRefusal(await suitability(headers), 400, "BAD_REQUEST");
  });

  test.each([
    ["expired", async () => `__Host-pm_session=${await userToken({ iat: 1000, exp: 2000 })}`],
    ["empty", async () => "__Host-pm_session="],
    ["there twice", async () => `__Host-pm_session=${await userToken()}; __Host-pm_session=${await userToken()}`],
    ["under another name", async () => `pm_session=${await userToken()}`],
  ])("that is %s identifies no user", async (_name, cookie) => {
    await expectRefusal(await call("GET", "/v1/positions", { cookie: await cookie() }), 401, "USER_REQUIRED");
  });

  test("stands back when there is a bearer token", async () => {
    const cookie = cookieOf(await login({ sub: "usr_cookie" }));
    const authorization = `Bearer ${await userToken({ sub: "usr_bearer" })}`;
    expect((await suitability({ cookie, authorization })).status).toBe(200);
    expect(callers.at(-1)?.user?.id).toBe("usr_bearer");
    await expectRefusal(await suitability({ cookie, authorization: "Bearer x" }), 401, "USER_REQUIRED");
  });
});

describe("DELETE /v1/session", () => {
  test("takes the cookie away", async () => {
    const cookie = cookieOf(await login());
    const response = await call("DELETE", "/v1/session", { cookie, origin: "https://shop.example" });
    expect([response.status, await response.json()]).toEqual([200, { ended: true }]);
    expect(response.headers.get("set-cookie")).toMatch(/^__Host-pm_session=; Max-Age=0; Path=\/; Secure/);
  });

  test("not for a page that is not listed", async () => {
    const cookie = cookieOf(await login());
    const response = await call("DELETE", "/v1/session", { cookie, origin: "https://evil.example" });
    await expectRefusal(response, 403, "ORIGIN_FORBIDDEN");
  });
});
