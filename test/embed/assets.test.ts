import { createHash } from "node:crypto";
import { brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { faultFacts } from "../../src/domain/fault.ts";
import { readAssets } from "../../src/server/pages/assets.ts";
import { PUBLIC_KEY } from "../server/support/harness.ts";
import { type ServedTenant, serveTenant } from "../server/support/tenant.ts";
import { giveAPast } from "./support/scenery.ts";

let tenant: ServedTenant;
const assets = readAssets();
beforeAll(async () => {
  tenant = await serveTenant({ embed: { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: [] } });
  for (let index = 0; index < 60; index += 1)
    await tenant.openMarket(`mkt_${index}`, {
      closeAt: Date.now() + 86_400_000,
      question: `Will thing number ${index} happen before the end of it?`,
    });
  await giveAPast(tenant, 366 * 24, "mkt_0");
});
afterAll(() => tenant?.close());

const get = (path: string, accept = "gzip") => fetch(tenant.url + path, { headers: { "accept-encoding": accept } });

test("the loader is under 5 KB compressed and needs nothing else", () => {
  expect(gzipSync(assets.loader).length).toBeLessThan(5 * 1024);
  expect(assets.loader).not.toMatch(/\bimport\b(?!\.meta)|\brequire\(/);
});

test("the frame's script leaves out the table of refusals, which only the server and the command line read", () => {
  const { meaning } = faultFacts("KEY_INVALID");
  expect([...assets.parts.values(), assets.refusal].filter((script) => script.includes(meaning))).toEqual([]);
});

test("every view is under 60 KB on the wire: a full page of markets, and a market with a year of prices, too", async () => {
  for (const view of ["market?marketId=mkt_0", "markets", "portfolio"]) {
    const { promise, resolve } = Promise.withResolvers<number>();
    const { request } = await import("node:http");
    request(`${tenant.url}/embed/${view}`, { headers: { "accept-encoding": "gzip" } }, async (response) => {
      let bytes = 0;
      for await (const chunk of response) bytes += (chunk as Buffer).length;
      resolve(bytes);
    }).end();
    expect(await promise).toBeLessThan(60 * 1024);
  }
});

test("the hashed file is the loader, never changes, and its integrity value is its own", async () => {
  const short = await get("/assets/embed.js");
  const long = await get(assets.hashedPath);
  const text = await long.text();
  expect(text).toBe(await short.text());
  expect(assets.integrity).toBe(`sha384-${createHash("sha384").update(text).digest("base64")}`);
  expect(long.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(short.headers.get("cache-control")).toBe("public, max-age=300");
  for (const { headers } of [short, long]) {
    expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    // `integrity` needs `crossorigin`, and that needs this.
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
});

test.each([
  ["br", brotliDecompressSync],
  ["gzip", gunzipSync],
  ["br;q=0, gzip", gunzipSync],
  ["identity", (bytes: Uint8Array) => bytes],
] as const)("a client that accepts %s can read the script", async (accept, decode) => {
  const { request } = await import("node:http");
  const bytes = await new Promise<Buffer>((resolve) => {
    request(`${tenant.url}/assets/embed.js`, { headers: { "accept-encoding": accept } }, async (response) => {
      resolve(Buffer.concat(await response.toArray()));
    }).end();
  });
  expect(Buffer.from(decode(bytes)).toString()).toBe(assets.loader);
});
