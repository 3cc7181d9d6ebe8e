import { Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import { createLogger } from "../../src/server/log.ts";
import type { RunningServer } from "../../src/server/server.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { ADMIN_KEY, type Backend, openBackend, PUBLIC_KEY, serve, userToken } from "./support/harness.ts";
import { exchangeRaw, expectCommonHeaders, expectRefusal, parseRaw } from "./support/requests.ts";

type RequestBody = NonNullable<RequestInit["body"]>;

let backend: Backend;
let server: RunningServer;
let authorization: string;
const logged: string[] = [];

const handlers = {
  getHealth: async () => ({ ok: true, service: "acme", db: true, uptimeSec: 1 }),
  getMarket: async ({ id }: { id: string }) => {
    if (id === "crash") throw new TypeError("select * from secrets at /srv/app.ts");
    if (id === "outage")
      throw new Fault("DATABASE_UNAVAILABLE", "The database is away", { cause: new Error("10.0.0.3") });
    if (id === "busy") throw new Fault("OVERLOADED", "Too many trades are waiting", { retryAfterSec: 3 });
    throw new Fault("MARKET_NOT_FOUND", `Market not found${id.startsWith("echo") ? `: ${id}` : ""}`);
  },
  createMarket: async (input: unknown) => {
    throw new Fault(
      "REFUSED",
      JSON.stringify(input, (_key, value) => (typeof value === "bigint" ? `${value}` : value)),
    );
  },
  placeTrade: async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    throw new Fault("INSUFFICIENT_FUNDS", "Not enough funds");
  },
  suspendMarket: async ({ id }: { id: string }) => ({ id, status: "suspended" }),
  listMarkets: async () => ({ items: [], nextCursor: null }),
} as unknown as Handlers;

beforeAll(async () => {
  backend = await openBackend();
  authorization = `Bearer ${await userToken()}`;
  const sink = new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk));
      done();
    },
  });
  server = await serve(backend, handlers, { log: createLogger("info", sink) });
});
afterAll(async () => {
  await server.close();
  await backend.close();
});

const get = (path: string, headers: Record<string, string> = { "x-api-key": PUBLIC_KEY }) =>
  fetch(server.url + path, { headers });

describe("refusals", () => {
  test("carry the handler's message, code and status", async () => {
    await expectRefusal(await get("/v1/markets/x"), 404, "MARKET_NOT_FOUND", "Market not found");
  });

  test("of an overloaded service say when to come back", async () => {
    const response = await get("/v1/markets/busy");
    expect(response.headers.get("retry-after")).toBe("3");
    await expectRefusal(response, 429, "OVERLOADED");
  });

  test("of the unexpected tell the log everything and the caller nothing", async () => {
    logged.length = 0;
    const secrets = { "x-api-key": PUBLIC_KEY, authorization, cookie: "session=crumb", "x-signature": "hex" };
    const response = await get("/v1/markets/crash", secrets);
    const requestId = response.headers.get("request-id");
    await expectRefusal(response, 500, "INTERNAL", "Unexpected failure");
    expect(logged).toHaveLength(1);
    expect(JSON.parse(logged[0] ?? "")).toMatchObject({ requestId, err: { stack: expect.stringContaining("app.ts") } });
    for (const secret of Object.values(secrets)) expect(logged[0]).not.toContain(`"${secret}"`);
  });

  test("that we expect to be possible keep their message, and their cause stays in the log", async () => {
    logged.length = 0;
    await expectRefusal(await get("/v1/markets/outage"), 500, "DATABASE_UNAVAILABLE", "The database is away");
    expect(logged[0]).toContain("10.0.0.3");
  });

  test("of ordinary requests are not logged", async () => {
    logged.length = 0;
    await get("/v1/markets/x");
    await get("/v1/markets/x", {});
    expect(logged).toEqual([]);
  });
});

describe("what is not served is 404 before any key is looked at", () => {
  test.each([
    ["GET", "/"],
    ["GET", "/v1"],
    ["GET", "/v1/nothing?secret=1"],
    ["GET", "/v2/markets"],
    ["GET", "/v1/markets/x/y/z"],
    ["POST", "/v1/markets/x"],
    ["DELETE", "/v1/markets/x"],
    ["PATCH", "/v1/trade"],
    ["GET", "/v1/trade"],
    ["PUT", "/health"],
    ["QUERY", "/v1/markets"],
    ["GET", "/v1/policy"],
    ["GET", "/v1/%zz"],
    ["GET", "/%c0%ae%c0%ae/etc/passwd"],
    ["GET", "/<script>alert(1)</script>"],
  ])("%s %s", async (method, path) => {
    await expectRefusal(await fetch(server.url + path, { method }), 404, "NOT_FOUND", "Not found");
  });

  test("HEAD, without a body", async () => {
    const response = await fetch(`${server.url}/v1/markets`, { method: "HEAD" });
    expect([response.status, response.headers.get("error-code")]).toEqual([404, "NOT_FOUND"]);
    expectCommonHeaders(response.headers);
  });
});

describe("the order of refusal", () => {
  test("credentials come before the shape, the shape before the handler", async () => {
    const init = { method: "POST", body: "{" };
    await expectRefusal(await fetch(`${server.url}/v1/markets`, init), 401, "KEY_INVALID");
    const withKey = { ...init, headers: { "x-api-key": PUBLIC_KEY } };
    await expectRefusal(await fetch(`${server.url}/v1/markets`, withKey), 403, "FORBIDDEN");
    const withAdmin = { ...init, headers: { "x-api-key": ADMIN_KEY } };
    await expectRefusal(await fetch(`${server.url}/v1/markets`, withAdmin), 400, "BAD_REQUEST");
    await expectRefusal(await fetch(`${server.url}/v1/trade`, withKey), 401, "USER_REQUIRED");
  });
});

describe("paths and queries", () => {
  test("segments are decoded once", async () => {
    const response = await get("/v1/markets/echo%2F%25252e%20x");
    expect(await response.json()).toEqual({ error: "Market not found: echo/%252e x" });
  });

  test.each(["/v1/markets/%zz", "/v1/markets/%ff", "/v1/markets/%00", `/v1/markets/${"x".repeat(65)}`])(
    "%s is 400",
    async (path) => {
      await expectRefusal(await get(path), 400, "BAD_REQUEST");
    },
  );

  test.each(["limit=1&limit=2", "limit=0", "limit=201", "limit=x", "kind=amm", "category=a/b", "q=%00", "cursor="])(
    "GET /v1/markets?%s is 400",
    async (query) => {
      await expectRefusal(await get(`/v1/markets?${query}`), 400, "BAD_REQUEST");
    },
  );

  test("unknown parameters are ignored", async () => {
    expect((await get("/v1/markets?utm=1&__proto__=x&limit=2")).status).toBe(200);
  });
});

describe("bodies", () => {
  const market = {
    question: "Q?",
    category: "c",
    kind: "cpmm",
    p0: 0.5,
    closeAt: "2030-01-01T00:00:00Z",
    resolutionRef: "r",
    meta: {},
  };
  const post = (body: RequestBody, headers: Record<string, string> = { "content-type": "application/json" }) =>
    fetch(`${server.url}/v1/markets`, {
      method: "POST",
      body,
      headers: { "x-api-key": ADMIN_KEY, ...headers },
      duplex: "half",
    } as RequestInit);
  /** The handler above refuses with what it was given. */
  const accepted = async (response: Response) => {
    expect(response.headers.get("error-code")).toBe("REFUSED");
    return JSON.parse(((await response.json()) as { error: string }).error);
  };

  test("of JSON are read, under the content type with or without a charset", async () => {
    const text = JSON.stringify(market);
    for (const type of ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"])
      expect(await accepted(await post(text, { "content-type": type }))).toMatchObject({ question: "Q?" });
  });

  test("unknown keys are ignored, and so are keys that would change every object", async () => {
    const text = JSON.stringify({ ...market, extra: 1 }).replace("{", '{"__proto__":{"admin":true},');
    const input = await accepted(await post(text.replace('"meta":{}', '"meta":{"__proto__":{"x":1},"constructor":1}')));
    expect(input).not.toHaveProperty("extra");
    expect(input.meta).toEqual({ constructor: 1 });
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  const nested = (depth: number) => `{"meta":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  test.each<[string, RequestBody]>([
    ["nothing", ""],
    ["half an object", "{"],
    ["a list", "[]"],
    ["a text", '"x"'],
    ["null", "null"],
    ["a number", "1"],
    ["two objects", "{}{}"],
    ["NaN", '{"p0":NaN}'],
    ["a comment", "{} // x"],
    ["a byte order mark", "\ufeff{}"],
    ["bytes that are not UTF-8", Buffer.concat([Buffer.from('{"question":"'), Buffer.from([0xff]), Buffer.from('"}')])],
    ["an infinite number", JSON.stringify(market).replace("0.5", "1e400")],
    ["an infinite number where nobody looks", JSON.stringify({ ...market, x: [1] }).replace("[1]", "[-1e400]")],
    ["a NUL in a text", JSON.stringify({ ...market, question: "a\0b" })],
    ["a NUL in meta", JSON.stringify({ ...market, meta: { a: ["\0"] } })],
    ["33 levels", nested(32)],
    ["20,000 levels", nested(20_000)],
    ["form data", "question=Q"],
    ["64 KiB and a byte", `{"x":"${"x".repeat(64 * 1024 - 7)}"}`],
  ])("of %s are 400", async (_name, body) => {
    await expectRefusal(await post(body), 400, "BAD_REQUEST");
  });

  test("of 64 KiB and of 32 levels pass the limits", async () => {
    const filler = JSON.stringify({ ...market, x: "" }).length;
    await accepted(await post(JSON.stringify({ ...market, x: "x".repeat(64 * 1024 - filler) })));
    await accepted(await post(JSON.stringify({ ...market, x: 0 }).replace('"x":0', `"x":${nested(31).slice(8, -1)}`)));
  });

  test.each([
    ["text/plain", { "content-type": "text/plain" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["JSON with a suffix", { "content-type": "application/json-patch" }],
    ["two types", { "content-type": "application/json, application/json" }],
    ["nothing", { "content-type": "" }],
  ])("that say they are %s are 400", async (_name, headers) => {
    await expectRefusal(await post(JSON.stringify(market), headers), 400, "BAD_REQUEST");
  });

  test("of any size are refused after 64 KiB, while the client is still sending", async () => {
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 64 * 1024;
        if (sent > 100 * 1024 * 1024) controller.close();
        else controller.enqueue(new Uint8Array(64 * 1024));
      },
    });
    await expectRefusal(await post(endless), 400, "BAD_REQUEST");
  });

  test("are not asked for where there is nothing to say", async () => {
    const init = { method: "POST", headers: { "x-api-key": ADMIN_KEY } };
    const response = await fetch(`${server.url}/v1/markets/m1/suspend`, init);
    expect([response.status, await response.json()]).toEqual([200, { id: "m1", status: "suspended" }]);
    const withBody = { ...init, body: '{"id":"m2"}', headers: { ...init.headers, "content-type": "application/json" } };
    expect(await (await fetch(`${server.url}/v1/markets/m1/suspend`, withBody)).json()).toMatchObject({ id: "m1" });
  });

  test("that end early leave the server standing", async () => {
    const head = `POST /v1/markets HTTP/1.1\r\nhost: x\r\nx-api-key: ${ADMIN_KEY}\r\ncontent-type: application/json\r\n`;
    for (const framing of ["content-length: 100\r\n\r\n{", "transfer-encoding: chunked\r\n\r\nff\r\n{"]) {
      const { connect } = await import("node:net");
      const socket = connect(server.port, "127.0.0.1", () => socket.write(head + framing));
      await new Promise((resolve) => setTimeout(resolve, 50));
      socket.destroy();
    }
    expect((await get("/health")).status).toBe(200);
  });
});

describe("bytes that are no request", () => {
  const expectRaw = async (received: string, status: number) => {
    const response = parseRaw(received);
    expectCommonHeaders(response.headers);
    await expectRefusal(response, status, status === 404 ? "NOT_FOUND" : "BAD_REQUEST");
  };

  test.each<[string, number, string | Buffer]>([
    ["rubbish", 400, "\r\n\r\nrubbish\r\n\r\n"],
    ["random bytes", 400, Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])],
    ["TLS", 400, Buffer.from("160301020001000001fc0303", "hex")],
    ["HTTP/2", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a bad version", 400, "GET /health HTTP/9.9\r\nhost: x\r\n\r\n"],
    ["a space in a header name", 400, "GET /health HTTP/1.1\r\nhost : x\r\n\r\n"],
    ["a bare line feed in a header", 400, "GET /health HTTP/1.1\r\nhost: x\r\nx: a\nb\r\n\r\n"],
    ["two lengths", 400, "POST /v1/trade HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}"],
    [
      "a length and chunks",
      400,
      "POST /v1/trade HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "a coding that is nearly chunked",
      400,
      "POST /v1/trade HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    ],
    ["headers over 16 KiB", 431, `GET /health HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(17_000)}\r\n\r\n`],
    ["no host", 400, "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n"],
    ["an expectation that nobody knows", 417, "GET /health HTTP/1.1\r\nhost: x\r\nexpect: magic\r\n\r\n"],
    ["a tunnel", 404, "CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n"],
    [
      "a host that makes h3 throw before any handler",
      400,
      "GET /../{x} HTTP/1.1\r\nhost: a:99999\r\nconnection: close\r\n\r\n",
    ],
    ["an absolute URL elsewhere", 404, "GET http://evil.example/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"],
    ["an asterisk", 404, "OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"],
  ])("%s is %i, in JSON", async (_name, status, bytes) => {
    await expectRaw(await exchangeRaw(server.port, bytes), status);
  });

  test("an upgrade is not offered, and the request is answered as it stands", async () => {
    const request = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n";
    const response = parseRaw(await exchangeRaw(server.port, request));
    expect([response.status, await response.json()]).toMatchObject([200, { ok: true }]);
  });

  test("HTTP/1.0 needs no host", async () => {
    expect(parseRaw(await exchangeRaw(server.port, "GET /health HTTP/1.0\r\n\r\n")).status).toBe(200);
  });

  test("rubbish behind a request does not take the place of its answer", async () => {
    const body = '{"marketId":"m","selection":{"side":"yes"},"amount":1}';
    const trade = [
      "POST /v1/trade HTTP/1.1\r\nhost: x",
      `x-api-key: ${PUBLIC_KEY}`,
      `authorization: ${authorization}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
    ].join("\r\n");
    const received = await exchangeRaw(server.port, `${trade}\r\n\r\n${body}rubbish\r\n\r\n`);
    await expectRefusal(parseRaw(received), 400, "INSUFFICIENT_FUNDS");
  });

  test("a credential that is given twice counts as none", async () => {
    const twice = (name: string, value: string) => `${name}: ${value}\r\n${name}: ${value}\r\n`;
    const request = (headers: string) => `GET /v1/markets HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`;
    const keys = parseRaw(await exchangeRaw(server.port, request(twice("x-api-key", PUBLIC_KEY))));
    await expectRefusal(keys, 401, "KEY_INVALID");
    const trade = `POST /v1/trade HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${PUBLIC_KEY}\r\n`;
    const tokens = parseRaw(await exchangeRaw(server.port, `${trade}${twice("authorization", authorization)}\r\n`));
    await expectRefusal(tokens, 401, "USER_REQUIRED");
  });

  test("headers that take longer than 10 s end the connection with 408", async () => {
    const startedAt = performance.now();
    await expectRaw(await exchangeRaw(server.port, "GET /health HTTP/1.1\r\nhost: x\r\n"), 408);
    expect(performance.now() - startedAt).toBeLessThan(13_000);
  }, 20_000);
});

test("answers and their pages carry the headers that every response does", async () => {
  const paging = await serve(backend, {
    listMarkets: async ({ cursor }) => ({ items: [], nextCursor: cursor === undefined ? "a+b/c=" : null }),
  });
  const headers = { "x-api-key": PUBLIC_KEY };
  const first = await fetch(`${paging.url}/v1/markets?kind=cpmm&limit=1`, { headers });
  expectCommonHeaders(first.headers);
  expect(first.headers.get("next-cursor")).toBe("a+b/c=");
  const link = /^<([^>]+)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1];
  expect(link).toBe("/v1/markets?kind=cpmm&limit=1&cursor=a%2Bb%2Fc%3D");
  const last = await fetch(paging.url + link, { headers });
  expect([last.status, last.headers.get("next-cursor"), last.headers.get("link")]).toEqual([200, null, null]);
  await paging.close();
});

test("health answers with its usual body when it is bad", async () => {
  const sick = await serve(backend, {
    getHealth: async () => ({ ok: false, service: "acme", db: false, uptimeSec: 1 }),
  });
  const response = await fetch(`${sick.url}/health`);
  expect([response.status, await response.json()]).toEqual([
    503,
    { ok: false, service: "acme", db: false, uptimeSec: 1 },
  ]);
  await sick.close();
});
