import { beforeAll, describe, expect, test } from "vitest";
import { RefusalLog } from "../../src/services/security/refusal-log.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, userToken } from "./support/harness.ts";

const tenant = tenantOfTests();
beforeAll(async () => {
  await tenant.openMarket("m1");
  await tenant.services.sequencer.submit({
    command: { type: "updatePolicy", patch: { maxTradeUsd: 500 }, ifVersion: undefined },
    actor: "cli:test",
  });
  await tenant.deposit("usr_1", 100);
});

async function post(amount: unknown, { key = PUBLIC_KEY, marketId = "m1" } = {}): Promise<Response> {
  return fetch(`${tenant.url}/v1/trade`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-api-key": key,
      authorization: `Bearer ${await userToken()}`,
    },
    body: JSON.stringify({ marketId, selection: { side: "yes" }, amount }),
  });
}

async function trade(amount: unknown, key?: string): Promise<{ requestId: string; status: number }> {
  const { headers, status } = await post(amount, key === undefined ? {} : { key });
  return { requestId: headers.get("request-id") ?? "", status };
}

async function look(requestId: string, key = ADMIN_KEY) {
  const response = await fetch(`${tenant.url}/v1/refusals/${requestId}`, { headers: { "x-api-key": key } });
  return { status: response.status, body: await response.json() };
}

describe("a refused change is found by its request id", () => {
  test("with the rule, the limit and the value that met it", async () => {
    const { requestId, status } = await trade(600);
    expect(status).toBe(400);
    expect(await look(requestId)).toEqual({
      status: 200,
      body: {
        requestId,
        ts: expect.stringMatching(/Z$/),
        operation: "placeTrade",
        status: 400,
        code: "MAX_TRADE_EXCEEDED",
        error: "Amount is over the limit of 500 USD per trade",
        actor: "user:usr_1",
        userId: "usr_1",
        marketId: "m1",
        detail: { field: "policy.maxTradeUsd", limit: "500", value: "600" },
      },
    });
  });

  test("also when the request itself was wrong", async () => {
    const { requestId } = await trade("a lot");
    expect((await look(requestId)).body).toMatchObject({ code: "BAD_REQUEST", detail: {}, userId: "usr_1" });
  });

  test("by an admin key only", async () => {
    const { requestId } = await trade(600);
    expect((await look(requestId, PUBLIC_KEY)).status).toBe(403);
  });
});

describe("a refused user token is found by the request id", () => {
  const ask = (headers: Record<string, string>, { method = "GET", path = "/v1/wallet" } = {}) =>
    fetch(tenant.url + path, { method, headers: { "x-api-key": PUBLIC_KEY, ...headers } });
  const found = async (answer: Response) => look(answer.headers.get("request-id") ?? "");

  test("with the claim that is wrong, for reads, changes, streams and sessions, and never with a value", async () => {
    const authorization = `Bearer ${await userToken({ sub: "usr_secret", exp: undefined })}`;
    for (const [method, path, operation] of [
      ["GET", "/v1/wallet", "getWallet"],
      ["POST", "/v1/trade", "placeTrade"],
      ["GET", "/v1/stream", "streamEvents"],
      ["POST", "/v1/session", "createSession"],
    ] as const) {
      const { status, body } = await found(await ask({ authorization }, { method, path }));
      expect([path, status]).toEqual([path, 200]);
      expect(body).toMatchObject({ operation, status: 401, code: "USER_REQUIRED", actor: "public:web", userId: null });
      expect(body).toMatchObject({ error: "A valid user token is required", detail: { fault: "exp-missing" } });
      expect(JSON.stringify(body)).not.toMatch(/usr_secret|eyJ/);
    }
  });

  test("with what to send, for a change without any token; a read without one is a page that looks", async () => {
    const change = await found(await ask({}, { method: "POST", path: "/v1/trade" }));
    expect(change.body).toMatchObject({ code: "USER_REQUIRED", detail: { fault: "no-token" } });
    expect((await found(await ask({}))).status).toBe(404);
  });

  test("not where the key is unknown too", async () => {
    const answer = await ask({ "x-api-key": "pk_nobody_0123456789", authorization: "Bearer x" });
    expect((await found(answer)).status).toBe(404);
  });
});

test("what was accepted, and what nobody known asked for, is not remembered", async () => {
  const accepted = await trade(5);
  expect(accepted.status).toBe(200);
  const unknown = await trade(600, "pk_nobody_0123456789");
  expect(unknown.status).toBe(401);
  for (const { requestId } of [accepted, unknown]) expect((await look(requestId)).status).toBe(404);
});

test("only the last refusals are kept, and refused tokens displace no refused change", () => {
  const log = new RefusalLog({ changes: 2, tokens: 2 });
  const refusal = { ts: 0, operation: "placeTrade", status: 400, code: "SLIPPAGE", error: "", actor: "user:a" };
  for (const requestId of ["one", "two", "three"])
    log.remember({ ...refusal, requestId, userId: "a", marketId: null, detail: {} });
  expect(["one", "two", "three"].map((id) => log.find(id)?.requestId)).toEqual([undefined, "two", "three"]);
  for (const requestId of ["x1", "x2", "x3"])
    log.remember({ ...refusal, ts: 1, code: "USER_REQUIRED", requestId, userId: null, marketId: null, detail: {} });
  expect(["two", "three", "x1", "x2", "x3"].map((id) => log.find(id)?.requestId)).toEqual([
    "two",
    "three",
    undefined,
    "x2",
    "x3",
  ]);
  expect(log.beginningWith("", 3).map(({ requestId }) => requestId)).toEqual(["x3", "x2", "three"]);
});

test("a trade is explained with the price before and after, and its audit entry", async () => {
  await tenant.openMarket("m2");
  const answer = await post(5, { marketId: "m2" });
  const placed = (await answer.json()) as { tradeId: string; yesPriceAfter: number; fee: number; shares: number };
  const response = await fetch(`${tenant.url}/v1/trades/${placed.tradeId}`, { headers: { "x-api-key": ADMIN_KEY } });
  expect(await response.json()).toMatchObject({
    tradeId: placed.tradeId,
    marketId: "m2",
    userId: "usr_1",
    action: "buy",
    amount: 5,
    fee: placed.fee,
    shares: placed.shares,
    yesPriceBefore: 0.5,
    yesPriceAfter: placed.yesPriceAfter,
    entry: { type: "trade.executed", actor: "user:usr_1", payload: { tradeId: placed.tradeId } },
  });
});
