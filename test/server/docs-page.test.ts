import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { TAGS } from "../../src/contract/operation.ts";
import { operationIds } from "../../src/contract/operations.ts";
import { webhookEventTypes } from "../../src/contract/resources/webhooks.ts";
import { faultFacts } from "../../src/domain/fault.ts";
import { openApiDocument } from "../../src/server/openapi/openapi.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { serveTenant } from "./support/tenant.ts";

const MAX_COMPRESSED = 60 * 1024;
const BASE_URL = "https://predict.acme.example";
const PATHS = ["/docs", ...[...Object.keys(TAGS), "webhooks", "refusals", "embed"].map((name) => `/docs/${name}`)];
const document = openApiDocument();

const tenant = tenantOfTests({ baseUrl: BASE_URL });
const pages = new Map<string, string>();
beforeAll(async () => {
  for (const path of PATHS) pages.set(path, await (await fetch(tenant.url + path)).text());
});

const page = (path: string): string => pages.get(path) ?? "";
const whole = (): string => [...pages.values()].join("");

describe("/docs", () => {
  test.each(PATHS)(
    "%s is public, small, runs and styles only what its policy names by hash, and cannot be framed",
    async (path) => {
      const response = await fetch(tenant.url + path, { headers: { "accept-encoding": "gzip" } });
      const html = await response.text();
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(response.headers.get("content-encoding")).toBe("gzip");
      expect(gzipSync(html).length).toBeLessThan(MAX_COMPRESSED);
      const hashes = (name: string): string[] =>
        [...html.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, "g"))].map(
          ([, text = ""]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`,
        );
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy).toContain(`style-src ${hashes("style").join(" ")};`);
      const scripts = hashes("script");
      if (scripts.length > 0) expect(policy).toContain(`script-src 'self' ${scripts.join(" ")};`);
      expect(policy.includes("script-src")).toBe(scripts.length > 0);
      expect(policy).not.toContain("unsafe");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(html).not.toMatch(/<link|<img|<[^<>]* (?:style|on\w+)=|<[^<>]* href="(?!\/|#)/i);
      expect(html).toContain('<input id="q" name="q" type="search"');
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      const head = await fetch(tenant.url + path, { method: "HEAD" });
      expect([head.status, await head.text()]).toEqual([200, ""]);
    },
  );

  test("says on its first page that unknown query parameters are ignored", () => {
    expect(page("/docs")).toContain("The server ignores query parameters that an operation does not name.");
  });

  test("explains the claims of a user token on its first page, and its search knows them", () => {
    const html = page("/docs");
    for (const claim of ["sub", "iat", "exp", "jurisdiction"]) expect(html).toContain(`<code>${claim}</code>`);
    expect(html).toContain("At most 24 hours");
    const index = JSON.parse(/id="index">(.*?)<\/script>/s.exec(html)?.[1] ?? "[]");
    const found = index.filter(({ title }: { title: string }) => title.toLowerCase().includes("claims"));
    expect(found).toEqual([expect.objectContaining({ href: "/docs#claims" })]);
  });

  test("says one address wherever it names one, that under which the reader came", async () => {
    expect(whole()).not.toContain("predict.example");
    expect(whole()).not.toContain(BASE_URL);
    expect(page("/docs/markets")).toContain(`curl ${tenant.url}/v1/markets`);
    expect(page("/docs/embed")).toContain(`${tenant.url}/assets/v1/embed.js`);
    const bare = await serveTenant({});
    expect(await (await fetch(`${bare.url}/docs/markets`)).text()).toContain(`curl ${bare.url}/v1/markets`);
    await bare.close();
    expect((await fetch(`${tenant.url}/docs/nothing`)).status).toBe(404);
  });

  test("explains every operation and event once in full, and has no broken link", () => {
    for (const id of [...operationIds, "streamEvents", ...webhookEventTypes])
      expect(whole().split(`<article id="${id}">`), id).toHaveLength(2);
    for (const [path, html] of pages) {
      const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
      expect(ids).toEqual([...new Set(ids)]);
      for (const [, target = ""] of html.matchAll(/href="([^"]+)"/g)) {
        const [to = "", anchor] = target.split("#");
        if (to === "/openapi.json") continue;
        const there = to === "" ? html : page(to);
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
      expect(whole().split(`<article id="${code}">`), code).toHaveLength(2);
      expect(page("/docs/refusals")).toContain(`<article id="${code}">`);
      expect(whole().split(`href="/docs/refusals#${code}"`)).toHaveLength(
        answered.filter((one) => one === code).length + 1,
      );
    }
    expect(page("/docs/trading")).not.toContain(faultFacts("PRICE_BOUND").meaning);
  });
});
