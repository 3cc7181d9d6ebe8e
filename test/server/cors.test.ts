import { describe, expect, test } from "vitest";
import type { Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operations.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { allHandlers, requestOf, serve } from "./support/harness.ts";

const LISTED = "https://shop.example";
const rows = Object.entries(operations as Record<string, Operation>);
const isForBrowsers = ({ auth }: Operation) => auth === "none" || auth === "public" || auth === "user";

const { backend, server } = serverOfTests(allHandlers(), { corsOrigins: [LISTED, "http://localhost:3000"] });

const corsHeaders = ({ headers }: Response) => [...headers.keys()].filter((name) => name.startsWith("access-control-"));
const send = (operation: Operation, origin?: string, init: RequestInit = requestOf(operation).init) =>
  fetch(server.url + requestOf(operation).path, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), ...(origin ? { origin } : {}) },
  });

describe.each(rows.filter(([, operation]) => isForBrowsers(operation)))("%s", (_id, operation) => {
  test("answers a listed origin, refusals included", async () => {
    const response = await send(operation, LISTED);
    expect(response.headers.get("access-control-allow-origin")).toBe(LISTED);
    expect(response.headers.get("vary")).toBe("Origin");
    const exposed = response.headers.get("access-control-expose-headers")?.split(", ") ?? [];
    for (const name of [
      "Error-Code",
      "Request-Id",
      "Retry-After",
      "Next-Cursor",
      "Link",
      "RateLimit-Remaining",
      "Idempotent-Replayed",
    ])
      expect(exposed).toContain(name);
    expect(response.headers.has("access-control-allow-credentials")).toBe(false);
  });

  test.each([
    undefined,
    "https://evil.example",
    "null",
    "https://shop.example.evil.example",
    "https://SHOP.example",
    "*",
  ])("tells %s nothing, and caches that", async (origin) => {
    const response = await send(operation, origin);
    expect(corsHeaders(response)).toEqual([]);
    expect(response.headers.get("vary")).toBe("Origin");
  });

  test("has a preflight that names what pages may use on its path", async () => {
    const headers = {
      "access-control-request-method": operation.method,
      "access-control-request-headers": "x-api-key",
    };
    const response = await send(operation, LISTED, { method: "OPTIONS", headers });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
    expect(response.headers.get("access-control-allow-origin")).toBe(LISTED);
    const allowed = rows.filter(([, other]) => other.path === operation.path && isForBrowsers(other));
    expect(response.headers.get("access-control-allow-methods")).toBe(
      allowed.map(([, { method }]) => method).join(", "),
    );
    expect(response.headers.get("access-control-allow-headers")).toBe(
      "x-api-key, authorization, content-type, idempotency-key, if-none-match, last-event-id",
    );
    expect(response.headers.get("access-control-max-age")).toBe("7200");
    expect(response.headers.get("vary")).toBe("Origin");
    expect(response.headers.get("request-id")).toMatch(/^req_/);
  });

  test("allows nothing in a preflight from elsewhere", async () => {
    const response = await send(operation, "https://evil.example", { method: "OPTIONS" });
    expect([response.status, corsHeaders(response)]).toEqual([204, []]);
  });
});

describe.each(rows.filter(([, operation]) => !isForBrowsers(operation)))("%s", (_id, operation) => {
  test("sends no CORS headers at all", async () => {
    const response = await send(operation, LISTED);
    expect([corsHeaders(response), response.headers.get("vary")]).toEqual([[], null]);
    const preflight = await send(operation, LISTED, { method: "OPTIONS" });
    expect(preflight.headers.get("access-control-allow-methods") ?? "").not.toContain(operation.method);
  });
});

test("a path that only admins use has no preflight", async () => {
  const response = await fetch(`${server.url}/v1/policy`, { method: "OPTIONS", headers: { origin: LISTED } });
  expect([response.status, corsHeaders(response)]).toEqual([404, []]);
});

test("a tenant without listed origins sends none of it", async () => {
  const closed = await serve(backend, allHandlers());
  const response = await fetch(`${closed.url}/v1/markets`, { headers: { origin: LISTED } });
  expect([corsHeaders(response), response.headers.get("vary")]).toEqual([[], null]);
  await closed.close();
});
