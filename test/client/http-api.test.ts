import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type HttpApiOptions, httpApi } from "../../src/client/http-api.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { type Api, operationIds, operations } from "../../src/contract/operations.ts";
import { Fault, type FaultCode } from "../../src/domain/fault.ts";

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/** A server that answers as told, one answer per request and the last one for ever, and remembers what it was asked. */
async function serve(...answers: Answer[]): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method = "", url = "", headers } = request;
    seen.push({ method, url, headers, body });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.(response, request);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
const refuse = (status: number, code: string, error: string, headers: Record<string, string> = {}) =>
  json({ error }, status, { "error-code": code, ...headers });
const hangUp: Answer = (_, request) => request.socket.destroy();

function connectTo(url: string, options: Partial<HttpApiOptions> = {}): { api: Api; waits: string[]; slept: number[] } {
  const waits: string[] = [];
  const slept: number[] = [];
  const api = httpApi({
    url,
    fetch,
    apiKey: "sk_test",
    onWait: (message) => waits.push(message),
    sleep: async (ms) => slept.push(ms),
    ...options,
  });
  return { api, waits, slept };
}

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof Fault) return error;
  throw new Error(`expected a Fault, got ${String(error)}`);
}

describe("requests", () => {
  test("carry the key, the path with its parameter encoded, and no body when the operation takes none", async () => {
    const { url, seen } = await serve(json({ id: "a b/c", status: "suspended" }));
    await connectTo(`${url}/`).api.suspendMarket({ id: "a b/c" });
    expect(seen).toEqual([expect.objectContaining({ method: "POST", url: "/v1/markets/a%20b%2Fc/suspend", body: "" })]);
    expect(seen[0]?.headers).toMatchObject({ "x-api-key": "sk_test" });
    expect(seen[0]?.headers["content-type"]).toBeUndefined();
  });

  test("put a query's input behind the path and leave out what is not given", async () => {
    const { url, seen } = await serve(json([], 200, { "next-cursor": "abc" }));
    const page = await connectTo(url).api.listMarkets({ q: "a&b", limit: 5, category: undefined });
    expect(seen[0]?.url).toBe("/v1/markets?q=a%26b&limit=5");
    expect(page).toEqual({ items: [], nextCursor: "abc" });
  });

  test("send the operator's reason as the bytes of its UTF-8", async () => {
    const { url, seen } = await serve(json({ feeBps: 1 }));
    await connectTo(url, { reason: "Prüfung 東京" }).api.getPolicy({});
    expect(Buffer.from(String(seen[0]?.headers["audit-reason"]), "latin1").toString()).toBe("Prüfung 東京");
  });

  test("carry the user's token on user operations only", async () => {
    const { url, seen } = await serve(json([]));
    const { api } = connectTo(url, { userToken: async () => "a.b.c" });
    await api.listPositions({});
    await api.listRisk({});
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(["Bearer a.b.c", undefined]);
  });

  test("writes carry a fresh idempotency key each, and reads none", async () => {
    const { url, seen } = await serve(json({ id: "m" }));
    const { api } = connectTo(url);
    await api.suspendMarket({ id: "m" });
    await api.suspendMarket({ id: "m" });
    await api.getMarket({ id: "m" });
    const [first, second, read] = seen.map(({ headers }) => headers["idempotency-key"]);
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(second).not.toBe(first);
    expect(read).toBeUndefined();
  });

  test("do not follow a redirect: the key would go with it", async () => {
    const { url, seen } = await serve((response) => {
      response.writeHead(307, { location: "/elsewhere" });
      response.end();
    });
    const fault = await faultOf(connectTo(url).api.getPolicy({}));
    expect(fault.code).toBe("UNREACHABLE");
    expect(seen).toHaveLength(1);
  });
});

describe("refusals", () => {
  test("come back with their code and text", async () => {
    const { url } = await serve(refuse(400, "MARKET_CLOSED", "Market is closed"));
    const fault = await faultOf(connectTo(url).api.getMarket({ id: "m" }));
    expect(fault).toMatchObject({ code: "MARKET_CLOSED", message: "Market is closed", exitCode: 7 });
  });

  test.each<[number, FaultCode, number]>([
    [400, "BAD_REQUEST", 6],
    [401, "KEY_INVALID", 4],
    [403, "FORBIDDEN", 4],
    [404, "NOT_FOUND", 5],
    [418, "BAD_REQUEST", 6],
    [500, "INTERNAL", 1],
    [502, "UNREACHABLE", 9],
    [503, "UNREACHABLE", 9],
    [504, "UNREACHABLE", 9],
  ])("with status %i and no known code are %s", async (status, code, exit) => {
    const { url } = await serve((response) => {
      response.writeHead(status, { "error-code": "SOMETHING_NEW" });
      response.end("<html>");
    });
    const fault = await faultOf(connectTo(url).api.getMarket({ id: "m" }));
    expect({ code: fault.code, exit: fault.exitCode }).toEqual({ code, exit });
  });

  test("of the server's own making name the request, so that its log can be found", async () => {
    const { url } = await serve(refuse(500, "INTERNAL", "Unexpected failure", { "request-id": "req_7" }));
    expect((await faultOf(connectTo(url).api.getPolicy({}))).message).toBe("Unexpected failure (request req_7)");
  });

  test("an answer that is not JSON does not pass for a result", async () => {
    const { url } = await serve((response) => response.end("hello"));
    expect((await faultOf(connectTo(url).api.getPolicy({}))).code).toBe("UNREACHABLE");
  });

  test.each([{ ok: true }, [{ ok: true }], {}, null, "ok", 7])(
    "nor does %j where something else was asked",
    async (body) => {
      const { url } = await serve(json(body));
      const { api } = connectTo(url);
      const calls: (() => Promise<unknown>)[] = [() => api.getPolicy({}), () => api.getConfig({})];
      if (!Array.isArray(body)) calls.push(() => api.listMarkets({ limit: 1 }));
      for (const call of calls) {
        const fault = await faultOf(call());
        expect({ code: fault.code, exit: fault.exitCode }).toEqual({ code: "UNREACHABLE", exit: 9 });
        expect(fault.message).toContain("does not answer like a pmctl server");
      }
    },
  );
});

const limitedFor = (seconds: number) =>
  refuse(429, "RATE_LIMITED", "Too many requests", { "retry-after": String(seconds) });

describe("the rate limit", () => {
  const limited = limitedFor(7);

  test("is waited for as long as the server says, and the wait is told", async () => {
    const { url, seen } = await serve(limited, limited, json({ feeBps: 1 }));
    const { api, waits, slept } = connectTo(url);
    expect(await api.getPolicy({})).toEqual({ feeBps: 1 });
    expect(slept).toEqual([7000, 7000]);
    expect(waits).toEqual(Array(2).fill("Too many requests: trying again in 7 s"));
    expect(seen).toHaveLength(3);
  });

  test("ends with 9 after a bounded number of waits, each of a minute at the most", async () => {
    const { url } = await serve(refuse(429, "RATE_LIMITED", "Too many requests", { "retry-after": "86400" }));
    const { api, slept } = connectTo(url);
    const fault = await faultOf(api.getPolicy({}));
    expect(fault).toMatchObject({ code: "RATE_LIMITED", exitCode: 9 });
    expect(slept).toEqual([60_000, 60_000, 60_000]);
  });
});

describe("the pace", () => {
  const answer = (remaining: number) =>
    json({ feeBps: 1 }, 200, {
      "ratelimit-limit": "2",
      "ratelimit-remaining": String(remaining),
      "ratelimit-reset": "59",
    });

  test("waits for the next window after the answer that used this one up, and says so; no request is refused", async () => {
    const { url, seen } = await serve(answer(1), answer(0), answer(1));
    const { api, waits, slept } = connectTo(url);
    for (let call = 0; call < 4; call++) await api.getPolicy({});
    expect(seen).toHaveLength(4);
    expect(waits).toEqual(["The server's rate limit is used up: going on in 59 s"]);
    expect(slept).toHaveLength(1);
    // Less what has passed since the answer.
    expect(slept[0]).toBeGreaterThan(30_000);
    expect(slept[0]).toBeLessThanOrEqual(59_000);
  });

  test("a wait of more than two seconds names the way that has none, where there is one", async () => {
    const insteadOfWaiting = "--via db would not wait";
    const { url } = await serve(limitedFor(2), limitedFor(3), answer(0), json({ feeBps: 1 }));
    const { api, waits } = connectTo(url, { insteadOfWaiting });
    for (let call = 0; call < 2; call++) await api.getPolicy({});
    expect(waits).toEqual([
      "Too many requests: trying again in 2 s",
      `Too many requests: trying again in 3 s; ${insteadOfWaiting}`,
      `The server's rate limit is used up: going on in 59 s; ${insteadOfWaiting}`,
    ]);
  });

  test("the last answer of a command is not waited for", async () => {
    const { url } = await serve(answer(0));
    const { api, slept } = connectTo(url);
    await api.getPolicy({});
    expect(slept).toEqual([]);
  });
});

describe("every POST that changes something", () => {
  test("says so in its row, and so carries an idempotency key", () => {
    const unmarked = operationIds.filter((id) => {
      const operation: Operation = operations[id];
      return operation.method === "POST" && operation.auth !== "signature" && !operation.writes;
    });
    // A quote and a preview change nothing; the others may be done twice: what they come to is the same, or is delivered once more.
    expect(unmarked.toSorted()).toEqual([
      "checkFeeds",
      "createSession",
      "listLatestPrices",
      "previewPolicy",
      "quoteTrade",
      "sweepOracle",
    ]);
  });
});

describe("a connection that is lost", () => {
  test("is tried again for reads", async () => {
    const { url, seen } = await serve(hangUp, json({ feeBps: 1 }));
    expect(await connectTo(url).api.getPolicy({})).toEqual({ feeBps: 1 });
    expect(seen).toHaveLength(2);
  });

  test("is tried again for writes with the same idempotency key", async () => {
    const { url, seen } = await serve(hangUp, json({ id: "m", status: "suspended" }));
    const { api, waits } = connectTo(url);
    await api.suspendMarket({ id: "m" });
    const keys = new Set(seen.map(({ headers }) => headers["idempotency-key"]));
    expect([seen.length, keys.size]).toEqual([2, 1]);
    expect(waits).toHaveLength(1);
  });

  test("is not tried again for a change without an idempotency key, whose outcome is then unknown", async () => {
    const { url, seen } = await serve(hangUp);
    const fault = await faultOf(connectTo(url).api.sweepOracle({}));
    expect(fault).toMatchObject({ code: "OUTCOME_UNKNOWN", exitCode: 9 });
    expect(seen).toHaveLength(1);
  });

  test("is given up after three tries; a write says that it may have been done", async () => {
    const { url, seen } = await serve(hangUp);
    const fault = await faultOf(connectTo(url).api.suspendMarket({ id: "m" }));
    expect(fault).toMatchObject({ code: "OUTCOME_UNKNOWN", exitCode: 9 });
    expect(fault.message).toContain("audit list");
    expect(seen).toHaveLength(3);
  });

  test("an outcome that the server does not know is asked for with the same key", async () => {
    const { url, seen } = await serve(refuse(500, "OUTCOME_UNKNOWN", "?"), json({ id: "m", status: "open" }));
    expect(await connectTo(url).api.resumeMarket({ id: "m" })).toEqual({ id: "m", status: "open" });
    expect(new Set(seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  });

  test("nobody listening is UNREACHABLE at once", async () => {
    const { url } = await serve(json({}));
    server?.close();
    const { api, slept } = connectTo(url);
    const fault = await faultOf(api.settleMarket({ marketId: "m", outcome: "yes" }));
    expect(fault).toMatchObject({ code: "UNREACHABLE", exitCode: 9, message: expect.stringContaining("refused") });
    expect(slept).toEqual([]);
  });
});
