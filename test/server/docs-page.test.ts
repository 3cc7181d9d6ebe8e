import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TAGS } from "../../src/contract/operation.ts";
import { operationIds } from "../../src/contract/operations.ts";
import { webhookEventTypes } from "../../src/contract/resources/webhooks.ts";
import { faultFacts } from "../../src/domain/fault.ts";
import { openApiDocument } from "../../src/server/openapi/openapi.ts";
import { DocsPages } from "../../src/server/pages/docs/pages.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

const MAX_COMPRESSED = 60 * 1024;
const BASE_URL = "https://predict.acme.example";
const document = openApiDocument({ baseUrl: BASE_URL, tenantId: "acme" });
const pages = new DocsPages(document);
const whole = pages.paths.map((path) => pages.html(path)).join("");

let tenant: ServedTenant;
beforeAll(async () => {
  tenant = await serveTenant({ baseUrl: BASE_URL });
});
afterAll(() => tenant.close());

describe("/docs", () => {
  test("has a page for each tag, for webhooks and for refusals, each of them public, small and without scripts", async () => {
    expect(pages.paths).toEqual([
      "/docs",
      ...Object.keys(TAGS).map((tag) => `/docs/${tag}`),
      "/docs/webhooks",
      "/docs/refusals",
    ]);
    for (const path of [...pages.paths, "/docs?q=trade"]) {
      const response = await fetch(tenant.url + path, { headers: { "accept-encoding": "gzip" } });
      const html = await response.text();
      expect([path, response.status, response.headers.get("content-type")]).toEqual([
        path,
        200,
        "text/html; charset=utf-8",
      ]);
      expect(response.headers.get("content-encoding")).toBe("gzip");
      expect(gzipSync(html).length).toBeLessThan(MAX_COMPRESSED);
      const hash = createHash("sha256")
        .update(/<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? "")
        .digest("base64");
      expect(response.headers.get("content-security-policy")).toBe(
        `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
      );
      expect(html).not.toMatch(/<script|<link|<img| style=| on\w+=| src=| href="(?!\/|#)/i);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    }
    expect((await fetch(`${tenant.url}/docs/nothing`)).status).toBe(404);
  });

  test("tells of every operation and event once in full, and every link leads somewhere", () => {
    for (const id of [...operationIds, "streamEvents", ...webhookEventTypes])
      expect(whole.split(`<article id="${id}">`), id).toHaveLength(2);
    for (const path of pages.paths) {
      const html = pages.html(path);
      for (const [, target = ""] of html.matchAll(/href="([^"]+)"/g)) {
        const [to = "", anchor] = target.split("#");
        // Two documents that others serve.
        if (to === "/docs/embed" || to === "/openapi.json") continue;
        const there = to === "" ? html : pages.html(to);
        expect([path, target, there !== ""]).toEqual([path, target, true]);
        if (anchor !== undefined) expect(there, `${path} ${target}`).toContain(`id="${anchor}"`);
      }
    }
  });

  test("explains each refusal in one place, to which every operation that may answer it links", () => {
    const answered = Object.values(document.paths as Record<string, Record<string, { "x-refusals": string[] }>>)
      .flatMap((item) => Object.values(item))
      .flatMap((operation) => operation["x-refusals"]);
    for (const code of new Set(answered)) {
      expect(whole.split(`<article id="${code}">`), code).toHaveLength(2);
      expect(pages.html("/docs/refusals")).toContain(`<article id="${code}">`);
      expect(whole.split(`href="/docs/refusals#${code}"`)).toHaveLength(
        answered.filter((one) => one === code).length + 1,
      );
    }
    expect(pages.html("/docs/trading")).not.toContain(faultFacts("PRICE_BOUND").meaning);
  });

  test("shows markup in a text as text", async () => {
    const evil = openApiDocument() as { info: { title: string }; tags: { description: string }[] };
    evil.info.title = "<script>alert(1)</script>";
    for (const tag of evil.tags) tag.description = "<script>alert(2)</script>";
    const made = new DocsPages(evil);
    for (const path of made.paths) expect(made.html(path)).not.toContain("<script>");
    const found = await made.found('"><script>alert(3)</script>', undefined);
    expect(found.body).toContain("&lt;script&gt;alert(3)");
    expect(found.body).not.toContain("<script>");
  });

  test.each([
    ["placeTrade", "/docs/trading#placeTrade"],
    ["SLIPPAGE", "/docs/refusals#SLIPPAGE"],
    ["order.filled", "/docs/webhooks#order.filled"],
    ["sellValue", "/docs/trading#type-Position"],
    ["trade", "/docs/trading#placeTrade"],
    ["approve WITHDRAWAL", "/docs/money#approveWithdrawal"],
  ])("a search for %s finds it first", async (query, first) => {
    const html = String((await pages.found(query, undefined)).body);
    expect(/<article><h2><a href="([^"]+)"/.exec(html)?.[1]).toBe(first);
  });

  test("a search for nothing is the overview, and for what is not there says so", async () => {
    const overview = await (await fetch(`${tenant.url}/docs?q=%20`)).text();
    expect(overview).toBe(await (await fetch(`${tenant.url}/docs`)).text());
    const none = await (await fetch(`${tenant.url}/docs?q=${"z".repeat(5000)}`)).text();
    expect(none).toContain("Nothing was found");
    expect(none.length).toBeLessThan(10_000);
  });
});
