import { Agent, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operations.ts";
import { readAssets } from "../../src/server/pages/assets.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, requestOf, userToken } from "./support/harness.ts";

const tenant = tenantOfTests({
  embed: { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: [] },
  corsOrigins: ["https://shop.example"],
});
beforeAll(async () => {
  await tenant.deposit("usr_1", 1000);
  await tenant.openMarket("mkt_1");
});

interface Seen {
  status: number | undefined;
  headers: Record<string, unknown>;
  bytes: number;
}

// One connection: an answer that said more than its headers promise would be taken for the next one.
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
afterAll(() => agent.destroy());

function send(method: string, url: string, headers: Record<string, string> = {}): Promise<Seen> {
  return new Promise((resolve, reject) => {
    request(url, { method, headers, agent }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, bytes }));
    })
      .on("error", reject)
      .end();
  });
}

/** What differs between any two requests, and how the body that is not there would have been framed. */
function comparable({ headers }: Seen, withLength = true): Record<string, unknown> {
  const own = [
    "date",
    "request-id",
    "audit-verified-at",
    "ratelimit-remaining",
    "ratelimit-reset",
    "transfer-encoding",
  ];
  const kept = Object.entries(headers).filter(
    ([name]) => !own.includes(name) && (withLength || name !== "content-length"),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value).replace(/nonce-[^']+/g, "nonce")]));
}

async function expectAlike(url: string, headers: Record<string, string> = {}, withLength = true): Promise<Seen> {
  const get = await send("GET", url, headers);
  const head = await send("HEAD", url, headers);
  expect([head.status, head.bytes]).toEqual([get.status, 0]);
  expect(comparable(head, withLength)).toEqual(comparable(get, withLength));
  if (withLength && get.headers["content-length"] === undefined)
    expect(Number(head.headers["content-length"])).toBe(get.bytes);
  return head;
}

const gets = Object.entries(operations as Record<string, Operation>).filter(([, { method }]) => method === "GET");
const VARYING = ["getHealth", "getConfig", "getAuditStatus", "getHedgeExposure", "getServer"];

describe.each(gets)("HEAD of %s", (id, operation) => {
  const { path } = requestOf(operation);
  test("is refused like GET without credentials", async () => {
    await expectAlike(tenant.url + path, {}, !VARYING.includes(id));
  });
  test("is answered like GET with them", async () => {
    const headers = {
      "x-api-key": operation.auth === "admin" ? ADMIN_KEY : PUBLIC_KEY,
      origin: "https://shop.example",
    };
    const token = `Bearer ${await userToken()}`;
    const credentials = operation.auth === "user" ? { ...headers, authorization: token } : headers;
    await expectAlike(tenant.url + path, credentials, !VARYING.includes(id));
  });
});

test.each([
  "/openapi.json",
  "/docs",
  "/docs/operations",
  "/docs?q=trade",
  "/nothing",
  "/v1/trade",
  "/assets/embed.js",
  readAssets().hashedPath,
  "/embed/market?marketId=mkt_1",
  "/embed/markets",
  "/embed/market?marketId=mkt_none",
  "/",
  "/m/mkt_1",
  "/m/mkt_none",
  "/m/mkt_1/tile.png",
  "/m/mkt_none/image.png",
  "/oembed",
  "/robots.txt",
  "/favicon.ico",
])("HEAD %s is GET without its body, whatever its encoding", async (path) => {
  for (const encoding of ["identity", "gzip", "br"])
    await expectAlike(
      tenant.url + path,
      { "accept-encoding": encoding },
      !(path.startsWith("/embed") && encoding !== "identity"),
    );
});

test("HEAD of the operations listener is GET without its body", async () => {
  for (const path of ["/livez", "/readyz", "/nothing"]) await expectAlike(`${tenant.server.opsUrl}${path}`);
  expect((await send("HEAD", `${tenant.server.opsUrl}/metrics`)).status).toBe(200);
  expect((await send("HEAD", `${tenant.server.opsUrl}/metrics`)).bytes).toBe(0);
});

test("HEAD of the stream ends at once, has the headers of GET, and opens no stream", async () => {
  const { body, headers, status } = await fetch(`${tenant.url}/v1/stream`, { headers: { "x-api-key": PUBLIC_KEY } });
  await body?.cancel();
  const head = await send("HEAD", `${tenant.url}/v1/stream`, { "x-api-key": PUBLIC_KEY });
  expect([head.status, head.bytes]).toEqual([status, 0]);
  expect(head.headers["content-type"]).toBe(headers.get("content-type"));
  expect(head.headers["x-accel-buffering"]).toBe(headers.get("x-accel-buffering"));
  expect((await send("HEAD", `${tenant.url}/v1/stream`)).status).toBe(401);
});

test("HEAD changes nothing where only others do, and no preflight needs to name it", async () => {
  for (const path of ["/v1/trade", "/v1/settle", "/payments/inbound/acme"])
    expect((await send("HEAD", tenant.url + path, { "x-api-key": ADMIN_KEY })).status).toBe(404);
  const preflight = await send("OPTIONS", `${tenant.url}/v1/positions`, { origin: "https://shop.example" });
  expect(preflight.headers["access-control-allow-methods"]).toBe("GET");
});

test("an expectation that is not supported is refused without a body too", async () => {
  const refused = await send("HEAD", `${tenant.url}/health`, { expect: "a miracle" });
  expect([refused.status, refused.bytes]).toEqual([417, 0]);
});
