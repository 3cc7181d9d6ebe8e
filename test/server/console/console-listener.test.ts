import { describe, expect, test } from "vitest";
import { makePair } from "../../support/certificates.ts";
import { CONSOLE, ConsoleClient } from "../support/console.ts";
import { tenantOfTests } from "../support/during-tests.ts";
import { serveServices } from "../support/harness.ts";

/** The status and the code of an answer. */
const refused = async (answer: ReturnType<ConsoleClient["get"]>) => {
  const { status, headers, body } = await answer;
  expect(Object.keys(body)).toEqual(["error"]);
  expect(headers.get("request-id")).toMatch(/^req_/);
  return [status, headers.get("error-code")];
};
const NOT_FOUND = [404, "NOT_FOUND"];
const FORBIDDEN = [403, "ORIGIN_FORBIDDEN"];
const PATHS = ["/console", "/console/", "/console/session", "/console/api/v1/markets", "/console/assets/x.js"];

describe("on the operations listener", () => {
  const tenant = tenantOfTests({ console: { ...CONSOLE, origins: ["https://desk.acme.example"] } });

  test("the console is there, and the API's port has no such path; the operations listener still has no operation", async () => {
    const { url, opsUrl, consoleUrl } = tenant.server;
    expect(consoleUrl).toBe(`${opsUrl}/console/`);
    for (const path of PATHS) expect(await refused(new ConsoleClient(url).get(path))).toEqual(NOT_FOUND);
    for (const path of ["/v1/markets", "/health", "/t/acme/console/", "/consoles", "//console/"])
      expect(await refused(new ConsoleClient(opsUrl).get(path))).toEqual(NOT_FOUND);
    expect((await new ConsoleClient(opsUrl).get("/console/")).status).toBe(200);
    expect((await new ConsoleClient(opsUrl).get("/livez")).status).toBe(200);
  });

  test("it answers to loopback names with its own port and to the stated origins; any other Host is refused on every path", async () => {
    const { opsUrl, opsPort } = tenant.server;
    const page = (host: string) => new ConsoleClient(opsUrl).get("/console/", { host });
    for (const host of ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
      expect((await page(`${host}:${opsPort}`)).status).toBe(200);
    for (const host of ["desk.acme.example", "desk.acme.example:443"]) expect((await page(host)).status).toBe(200);
    const others = [
      "evil.example",
      "localhost",
      "localhost:1",
      `127.0.0.2:${opsPort}`,
      "desk.acme.example:8443",
      "acme.example",
    ];
    for (const host of others)
      for (const path of [...PATHS, "/console/nowhere"])
        expect([host, path, ...(await refused(new ConsoleClient(opsUrl).get(path, { host })))]).toEqual([
          host,
          path,
          ...FORBIDDEN,
        ]);
    expect(
      await refused(new ConsoleClient(opsUrl).send("PUT", "/console/session", { headers: { host: "evil.example" } })),
    ).toEqual(FORBIDDEN);
  });

  test("without a console every path of it is missing at both ports", async () => {
    const server = await serveServices(tenant.services, { pool: tenant.backend.pool });
    expect(server.consoleUrl).toBeUndefined();
    for (const url of [server.url, server.opsUrl])
      for (const path of PATHS) expect(await refused(new ConsoleClient(url).get(path))).toEqual(NOT_FOUND);
    expect(await refused(new ConsoleClient(server.opsUrl).post("/console/session", { key: "x" }))).toEqual(NOT_FOUND);
    await server.close();
  });
});

describe("on a listener of its own", () => {
  const tenant = tenantOfTests({ console: CONSOLE, where: { console: { host: "127.0.0.1", port: 0 } } });

  test("it is served there alone, and nothing else is", async () => {
    const { url, opsUrl, consoleUrl = "" } = tenant.server;
    const own = new ConsoleClient(consoleUrl);
    expect(new URL(consoleUrl).pathname).toBe("/console/");
    for (const at of [url, opsUrl])
      for (const path of PATHS) expect(await refused(new ConsoleClient(at).get(path))).toEqual(NOT_FOUND);
    for (const path of ["/", "/livez", "/readyz", "/metrics", "/v1/markets", "/health", "/docs"])
      expect(await refused(own.get(path))).toEqual(NOT_FOUND);
    expect((await own.signIn()).status).toBe(200);
    expect((await own.get("/console/api/v1/markets")).status).toBe(200);
    expect((await new ConsoleClient(opsUrl).get("/livez")).status).toBe(200);
  });
});

describe("over TLS", () => {
  const pair = makePair();
  const tenant = tenantOfTests({ console: CONSOLE });

  test("the page's origin is https, a renewed certificate is shown, and plain HTTP gets no answer", async () => {
    const { cert, key } = await pair;
    const where = { console: { host: "127.0.0.1", port: 0, keyPair: { cert, key } } };
    const server = await serveServices(tenant.services, { pool: tenant.backend.pool, console: CONSOLE }, where);
    const { consoleUrl = "" } = server;
    expect(consoleUrl).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/console\/$/);
    const own = new ConsoleClient(consoleUrl, "", cert);
    expect((await own.signIn()).status).toBe(200);
    const plain = consoleUrl.replace("https", "http");
    expect(await refused(own.post("/console/session", {}, { origin: new URL(plain).origin }))).toEqual(FORBIDDEN);
    await expect(new ConsoleClient(plain).get("/console/")).rejects.toThrow();
    const renewed = await makePair();
    server.renewConsole(renewed);
    const again = new ConsoleClient(consoleUrl, "", renewed.cert);
    again.cookie = own.cookie;
    expect((await again.get("/console/session")).status).toBe(200);
    await server.close();
  });

  test("a listener that is not loopback is opened by the first stated origin", async () => {
    const console = { ...CONSOLE, origins: ["https://desk.acme.example:9465"] };
    const { cert, key } = await pair;
    const where = { console: { host: "0.0.0.0", port: 0, keyPair: { cert, key } } };
    const server = await serveServices(tenant.services, { pool: tenant.backend.pool, console }, where);
    expect(server.consoleUrl).toBe("https://desk.acme.example:9465/console/");
    await server.close();
  });
});
