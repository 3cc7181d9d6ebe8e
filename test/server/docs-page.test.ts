import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operationIds } from "../../src/contract/operations.ts";
import { openApiDocument } from "../../src/server/openapi/openapi.ts";
import { docsPage } from "../../src/server/pages/docs-page.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

let tenant: ServedTenant;
beforeAll(async () => {
  tenant = await serveTenant();
});
afterAll(() => tenant.close());

describe("/docs", () => {
  test("is a page without a key, where nothing runs and nothing comes from elsewhere", async () => {
    const response = await fetch(`${tenant.url}/docs`);
    const html = await response.text();
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = response.headers.get("content-security-policy") ?? "";
    const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(policy).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(html).not.toMatch(/<script|<link|<img| style=| on\w+=|https?:\/\//i);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("tells of every operation, and every link leads somewhere", () => {
    const html = docsPage(openApiDocument());
    for (const id of [...operationIds, "streamEvents"]) expect(html).toContain(`<article id="${id}">`);
    for (const [, target] of html.matchAll(/href="#([^"]+)"/g)) expect(html).toContain(`id="${target}"`);
  });

  test("shows markup in a text as text", () => {
    const document = openApiDocument() as { info: { title: string } };
    document.info.title = "<script>alert(1)</script>";
    expect(docsPage(document)).not.toContain("<script>");
  });
});
