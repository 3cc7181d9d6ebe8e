import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PUBLIC_KEY } from "../support/harness.ts";
import { type ServedTenant, serveTenant } from "../support/tenant.ts";

const BASE_URL = "https://predict.acme.example";
const embed = { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: [] };
const playground = { tokens: async () => ({}), crowd: [] };

let named: ServedTenant;
let local: ServedTenant;
beforeAll(async () => {
  [named, local] = await Promise.all([
    serveTenant({
      baseUrl: BASE_URL,
      embed: { ...embed, baseUrl: BASE_URL },
      playground,
      hosts: ["predict.acme.example", "*.shops.example", "127.0.0.1", "localhost", "::1"],
      trustProxy: ["127.0.0.2/32"],
    }),
    serveTenant({
      baseUrl: "http://127.0.0.1:8080",
      embed: { ...embed, baseUrl: "http://127.0.0.1:8080" },
      playground,
    }),
  ]);
  await local.openMarket("m1");
});
afterAll(async () => {
  await Promise.all([named?.close(), local?.close()]);
});

interface Page {
  status: number;
  body: string;
  cacheControl: string | undefined;
}

/** What `fetch` does not let a caller choose: the host that is asked for, and the address that the request comes from. */
function ask(tenant: ServedTenant, path: string, headers: Record<string, string>, from = "127.0.0.1"): Promise<Page> {
  return new Promise((resolve, reject) => {
    const { port } = tenant.server;
    request({ port, host: "127.0.0.1", localAddress: from, path, headers, agent: false }, (res) => {
      let body = "";
      res.on("data", (chunk) => {
        body += chunk;
      });
      res.on("end", () => resolve({ status: res.statusCode ?? 0, body, cacheControl: res.headers["cache-control"] }));
    })
      .on("error", reject)
      .end();
  });
}

/** The address that curl examples, the snippet's script, the playground's code and the OpenAPI document name. */
async function shownAt(tenant: ServedTenant, headers: Record<string, string>, from?: string): Promise<string> {
  const [docs, configurator, play, document] = await Promise.all(
    ["/docs/markets", "/docs/embed", "/playground", "/openapi.json"].map((path) => ask(tenant, path, headers, from)),
  );
  const shown = new Set([
    /curl (\S+)\/v1\/markets/.exec(docs?.body ?? "")?.[1],
    /(https?:\/\/[^\s"/]+)\/assets\/v1\/embed\.js/.exec(configurator?.body ?? "")?.[1],
    JSON.parse(/id="data">(.*?)<\/script>/s.exec(play?.body ?? "")?.[1] ?? "{}").origin,
    JSON.parse(document?.body ?? "").servers[0].url,
  ]);
  expect([docs, configurator, play, document].map((page) => page?.cacheControl)).toEqual(Array(4).fill("no-store"));
  expect(shown.size).toBe(1);
  return String([...shown][0]);
}

describe("pages show the address under which their reader came", () => {
  test("on this machine, at whichever port", async () => {
    const { port } = local.server;
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, "[::1]:4711", "demo.localhost:80", "127.0.0.1:9"])
      expect(await shownAt(local, { host })).toBe(new URL(`http://${host}`).origin);
    expect(await shownAt(named, { host: `localhost:${named.server.port}` })).toBe(
      `http://localhost:${named.server.port}`,
    );
  });

  test("under a listed host: by the scheme of the connection, or of the proxy in front", async () => {
    const { port } = named.server;
    expect(await shownAt(named, { host: "predict.acme.example" })).toBe(BASE_URL);
    expect(await shownAt(named, { host: "EU.shops.example" })).toBe("https://eu.shops.example");
    expect(await shownAt(named, { host: `eu.shops.example:${port}` })).toBe(`http://eu.shops.example:${port}`);
    const forwarded = { host: "localhost:8443", "x-forwarded-proto": "https" };
    expect(await shownAt(named, forwarded, "127.0.0.2")).toBe("https://localhost:8443");
    expect(await shownAt(named, forwarded)).toBe("http://localhost:8443");
  });

  test.each([
    ["another host", "evil.example"],
    ["one that ends like the tenant's", "predict.acme.example.evil.example"],
    ["a name before an at sign", "127.0.0.1:80@evil.example"],
    ["a name and a password", "user:secret@127.0.0.1:8080"],
    ["a path", "127.0.0.1/@evil.example"],
    ["a name like loopback", "localhost.evil.example"],
    ["markup", '127.0.0.1"><script>'],
    ["a number that is no port", "127.0.0.1:99999"],
  ])("%s is never shown: the tenant's own address is", async (_name, host) => {
    const { status, body } = await ask(local, "/docs/markets", { host });
    if (status === 200) expect(body).toContain("curl http://127.0.0.1:8080/v1/markets");
    expect(body).not.toMatch(/evil|secret|"><script>|99999/);
    const document = await ask(local, "/openapi.json", { host });
    if (status === 200) expect(JSON.parse(document.body).servers).toEqual([{ url: "http://127.0.0.1:8080" }]);
  });

  test("a listed host at a port where nothing of the tenant listens is shown as the tenant's address", async () => {
    expect(await shownAt(named, { host: "predict.acme.example:6666" })).toBe(BASE_URL);
    expect(await shownAt(named, { host: "eu.shops.example:6666" })).toBe(BASE_URL);
  });

  test("X-Forwarded-Host and Forwarded say nothing, from a proxy either", async () => {
    const claims = { "x-forwarded-host": "evil.example", forwarded: "host=evil.example", "x-forwarded-port": "6666" };
    const { port } = local.server;
    expect(await shownAt(local, { host: `localhost:${port}`, ...claims })).toBe(`http://localhost:${port}`);
    expect(await shownAt(named, { host: "localhost:1", ...claims }, "127.0.0.2")).toBe("http://localhost:1");
  });

  test("of a target that is a whole URL its host counts, as everywhere", async () => {
    const { body } = await ask(local, "http://localhost:4711/docs/markets", { host: "evil.example" });
    expect(body).toContain("curl http://localhost:4711/v1/markets");
    expect(body).not.toContain("evil");
  });
});

test("what programs keep of a market's page names the tenant's own address, however the reader came", async () => {
  const { body } = await ask(local, "/m/m1", { host: `localhost:${local.server.port}` });
  expect(body).toContain('<link rel="canonical" href="http://127.0.0.1:8080/m/m1">');
  expect(body).not.toContain("localhost");
});
