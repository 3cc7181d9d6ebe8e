import { expect, test } from "vitest";
import { CONSOLE, ConsoleClient } from "../support/console.ts";
import { tenantOfTests } from "../support/during-tests.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const client = () => new ConsoleClient(tenant.server.opsUrl);

const POLICY = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self' data:",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
  "require-trusted-types-for": "'script'",
  "trusted-types": "'none'",
};
const HEADERS = {
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const policyOf = (headers: Headers) =>
  Object.fromEntries(
    (headers.get("content-security-policy") ?? "").split("; ").map((each) => {
      const [name = "", ...sources] = each.split(" ");
      return [name, sources.join(" ")];
    }),
  );
const common = (headers: Headers) => Object.fromEntries(Object.keys(HEADERS).map((name) => [name, headers.get(name)]));
const assets = async () => {
  const { text } = await client().get("/console/");
  return [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = ""]) => path);
};

test("the page and each of its files carry the policy and the headers, word for word", async () => {
  const files = await assets();
  expect(files.length).toBeGreaterThanOrEqual(2);
  for (const path of ["/console", "/console/", "/console/markets/mkt_1?q=x", "/console/nowhere/at/all", ...files]) {
    const { status, headers } = await client().get(path, {
      "sec-fetch-site": path.includes("assets") ? "same-origin" : "none",
    });
    expect([path, status]).toEqual([path, 200]);
    expect(policyOf(headers)).toEqual(POLICY);
    expect(common(headers)).toEqual(HEADERS);
    expect(headers.get("set-cookie")).toBeNull();
    expect(headers.get("cache-control")).toBe(
      path.includes("/assets/") ? "public, max-age=31536000, immutable" : "no-store",
    );
  }
});

test("answers to programs and refusals are not stored, framed or sniffed either", async () => {
  const operator = client();
  await operator.signIn();
  for (const answer of [
    await operator.get("/console/session"),
    await operator.get("/console/api/v1/markets"),
    await operator.get("/console/api/v1/nothing"),
    await client().get("/console/session"),
    await client().get("/console/", { host: "evil.example" }),
    await client().get("/console/assets/nothing.js"),
  ]) {
    expect(common(answer.headers)).toEqual(HEADERS);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
  }
});

test("the page holds nothing inline, names no other host, and asks no stranger for anything", async () => {
  const { text } = await client().get("/console/");
  expect(text).not.toMatch(/<style|style=|<script(?![^>]* src=)|\son\w+=|https?:/);
  expect(text.match(/<script[^>]*>/g)).toEqual([expect.stringMatching(/src="\/console\/assets\/[\w-]+\.js"/)]);
  for (const path of await assets()) {
    const { text: file } = await client().get(path);
    expect(
      file.match(/url\(\s*["']?(https?:)?\/\/|@import|\beval\(|new Function\(|document\.write/)?.[0],
    ).toBeUndefined();
  }
});

test("an unknown file is 404, and a file's name leads nowhere else", async () => {
  for (const path of ["nothing.js", "", "..%2fconsole.json", "main.js"]) {
    const { status, headers } = await client().get(`/console/assets/${path}`);
    expect([path, status, headers.get("error-code")]).toEqual([path, 404, "NOT_FOUND"]);
  }
});

test("HEAD answers as GET, without a body; a known file is not sent again, and is sent compressed", async () => {
  const [file = ""] = (await assets()).filter((path) => path.endsWith(".js"));
  for (const path of ["/console/", file]) {
    const [head, get] = [await client().send("HEAD", path, { headers: { origin: null } }), await client().get(path)];
    expect([head.status, head.text]).toEqual([200, ""]);
    for (const name of ["content-length", "content-type", "content-security-policy", "cache-control"])
      expect(head.headers.get(name)).toBe(get.headers.get(name));
  }
  const { headers } = await client().get(file);
  expect((await client().get(file, { "if-none-match": headers.get("etag") ?? "" })).status).toBe(304);
  const packed = await fetch(tenant.server.opsUrl + file, { headers: { "accept-encoding": "gzip" } });
  expect(packed.headers.get("content-encoding")).toBe("gzip");
  expect(packed.headers.get("vary")).toMatch(/accept-encoding/i);
});

test("all that a first view loads is at most 120,000 bytes", async () => {
  let bytes = 0;
  for (const path of ["/console/", ...(await assets())]) {
    const response = await fetch(tenant.server.opsUrl + path, { headers: { "accept-encoding": "gzip" } });
    bytes += Number(response.headers.get("content-length"));
    await response.body?.cancel();
  }
  expect(bytes).toBeGreaterThan(1_000);
  expect(bytes).toBeLessThanOrEqual(120_000);
});
