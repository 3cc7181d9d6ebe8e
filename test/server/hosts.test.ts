import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operationIds, operations } from "../../src/contract/operations.ts";
import type { RunningServer } from "../../src/server/server.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, allHandlers, requestOf, serve } from "./support/harness.ts";

const { backend, server } = serverOfTests(allHandlers(), {
  adminHosts: ["Admin.acme.example", "::1"],
  strictTransport: "forwarded",
  trustProxy: ["127.0.0.1/32"],
});

/** What `fetch` does not let a caller choose: the name that it asks under, and the address that it comes from. */
function ask(
  path: string,
  headers: Record<string, string>,
  { method = "GET", body = "", from = "127.0.0.1", port = server.port } = {},
) {
  return new Promise<{ status: number; code: string; body: string; strict: string | undefined }>((resolve, reject) => {
    const options = { port, host: "127.0.0.1", localAddress: from, path, method, headers, agent: false };
    request(options, (res) => {
      let text = "";
      res.on("data", (chunk) => {
        text += chunk;
      });
      res.on("end", () =>
        resolve({
          status: res.statusCode ?? 0,
          code: String(res.headers["error-code"]),
          body: text,
          strict: res.headers["strict-transport-security"],
        }),
      );
    })
      .on("error", reject)
      .end(body);
  });
}

describe("server.hosts", () => {
  let named: RunningServer;
  beforeAll(async () => {
    named = await serve(backend, allHandlers(), {
      hosts: ["predict.acme.example", "*.shops.example", "[::1]"],
      rateLimit: { perMinute: 2 },
    });
  });
  afterAll(() => named.close());

  test("under another name nothing is answered and nothing counted, whatever is asked", async () => {
    const paths = ["/health", "/v1/markets", "/nowhere", "/assets/embed.js", "/openapi.json"];
    for (const path of [...paths, "http://other.example/health", "http://a@other.example/health"])
      for (const host of [
        "acme.example",
        "a.b.shops.example",
        "shops.example",
        "predict.acme.example.evil.example",
        "",
      ]) {
        const claimed = { host, "x-forwarded-host": "predict.acme.example", "x-api-key": ADMIN_KEY };
        for (const method of ["GET", "POST", "OPTIONS"])
          expect([path, host, await ask(path, claimed, { method, port: named.port })]).toMatchObject([
            path,
            host,
            { status: 404, code: "UNKNOWN_HOST", body: '{"error":"No tenant is served under this host"}' },
          ]);
      }
    const other = await ask("http://other.example/health", { host: "predict.acme.example" }, { port: named.port });
    expect(other.code).toBe("UNKNOWN_HOST");
  });

  test("case, port and the dot of the root tell no names apart, and a whole address as target goes before the header", async () => {
    const port = { port: named.port };
    const [host, other] = ["Predict.ACME.example:8443", "acme.example"];
    expect((await ask("/nowhere", { host }, { ...port, from: "127.0.0.2" })).code).toBe("NOT_FOUND");
    for (const [from, path, header] of [
      ["127.0.0.3", "/nowhere", "predict.acme.example."],
      ["127.0.0.4", "/nowhere", "eu.shops.example"],
      ["127.0.0.5", "/nowhere", "[::1]:8080"],
      ["127.0.0.6", "http://EU.shops.example.:80/nowhere", other],
    ] as const)
      expect([header, (await ask(path, { host: header }, { ...port, from })).code]).toEqual([header, "NOT_FOUND"]);
  });
});

describe("server.adminHosts", () => {
  test("under another name every admin operation is a path that nothing is at, with and without a key", async () => {
    const unknown = await ask("/nowhere", { host: "acme.example" });
    expect(unknown).toMatchObject({ status: 404, code: "NOT_FOUND" });
    for (const id of operationIds.filter((each) => operations[each].auth === "admin")) {
      const { path, init } = requestOf(operations[id]);
      for (const key of [{}, { "x-api-key": ADMIN_KEY }]) {
        const headers = { host: "acme.example", ...(init.headers as Record<string, string>), ...key };
        const answer = await ask(path, headers, { method: init.method ?? "GET", body: String(init.body ?? "") });
        expect([id, answer]).toEqual([id, unknown]);
      }
    }
  });

  test("under its names they are there, in any case, with a port and with the dot of the root", async () => {
    const path = operations.listKeys.path;
    for (const host of ["admin.acme.example", "ADMIN.acme.example:8443", "admin.acme.example.", "[::1]:8080"])
      expect([host, (await ask(path, { host })).code]).toEqual([host, "KEY_INVALID"]);
    for (const host of ["admin.acme.example.evil.example", "xadmin.acme.example", "", "127.0.0.1"])
      expect([host, (await ask(path, { host })).code]).toEqual([host, "NOT_FOUND"]);
    // A name that a client claims to have used elsewhere is none.
    const claimed = { host: "acme.example", "x-forwarded-host": "admin.acme.example" };
    expect((await ask(path, claimed)).code).toBe("NOT_FOUND");
  });

  test("of a target that is a whole URL both its host and the header have to be such a name", async () => {
    const { path } = operations.listKeys;
    const [admin, other] = ["admin.acme.example", "acme.example"];
    for (const [target, host, code] of [
      [admin, admin, "KEY_INVALID"],
      [`${admin}:8443`, "[::1]:80", "KEY_INVALID"],
      [other, admin, "NOT_FOUND"],
      [admin, other, "NOT_FOUND"],
      [`${admin}@${other}`, admin, "NOT_FOUND"],
    ] as const)
      expect([target, host, (await ask(`http://${target}${path}`, { host })).code]).toEqual([target, host, code]);
  });

  test("other operations are there under every name, for admin keys too", async () => {
    const headers = { host: "acme.example", "x-api-key": ADMIN_KEY };
    expect((await ask(operations.listMarkets.path, headers)).code).not.toBe("NOT_FOUND");
  });
});

describe("behind a proxy that ends TLS", () => {
  test("browsers are told to come back by HTTPS where the proxy says that they came by it", async () => {
    const strict = async (scheme?: string, from?: string) =>
      (await ask("/x", { host: "x", ...(scheme && { "x-forwarded-proto": scheme }) }, from ? { from } : {})).strict;
    expect(await strict("https")).toBe("max-age=31536000");
    expect(await strict("HTTPS, http")).toBe("max-age=31536000");
    for (const scheme of ["http", "http, https", "", undefined]) expect(await strict(scheme)).toBeUndefined();
    expect(await strict("https", "127.0.0.2")).toBeUndefined();
  });
});
