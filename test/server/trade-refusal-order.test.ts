import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunningServer } from "../../src/server/server.ts";
import { ADMIN_KEY, openTestTenant, PUBLIC_KEY, type TestTenant } from "../support/tenant.ts";
import { serveServices, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

let tenant: TestTenant;
let server: RunningServer;
beforeAll(async () => {
  tenant = await openTestTenant({ kycRequired: true });
  server = await serveServices(tenant.services);
});
afterAll(async () => {
  await server.close();
  await tenant.close();
});

interface Call {
  key?: string;
  user?: string;
  body?: unknown;
  method?: string;
}

async function call(path: string, { key, user, body, method }: Call = {}): Promise<Response> {
  const headers: Record<string, string> = {};
  if (key) headers["x-api-key"] = key;
  if (user) headers.authorization = `Bearer ${await userToken({ sub: user })}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const init: RequestInit = { method: method ?? (body === undefined ? "GET" : "POST"), headers };
  if (body !== undefined) init.body = JSON.stringify(body);
  return fetch(server.url + path, init);
}

const verify = (traderId: string, status: string, verifiedAt: number, jurisdiction?: string) =>
  tenant.services.sequencer.submit({
    command: { type: "recordKyc", traderId, status, provider: "test", verifiedAt, jurisdiction },
    actor: "provider:test",
  });

describe.each(["/v1/trade", "/v1/orders"])("%s refuses in the documented order", (path) => {
  test("every obstacle at once, removed one after the other", async () => {
    const user = `usr ${path}`;
    const operator = tenant.api();
    const marketId = await tenant.market({ liquidityUsd: 5 });
    await operator.suspendMarket({ id: marketId });
    await operator.restrictUser({ id: user });
    await operator.updatePolicy({
      maxTradeUsd: 1,
      maxUserExposureUsd: 1,
      jurisdictions: { blocked: ["US"] },
      suitabilityRequired: true,
    });
    const selection = path === "/v1/trade" ? { side: "yes" } : { outcome: 1 };
    const order: Record<string, unknown> = { marketId: "mkt_none", selection, amount: -1, maxAvgPrice: 0.51 };
    const given: Call = { body: order };
    const refused = async (status: number, code: Parameters<typeof expectRefusal>[2]) =>
      expectRefusal(await call(path, given), status, code);

    await refused(401, "KEY_INVALID");
    given.key = PUBLIC_KEY;
    await refused(401, "USER_REQUIRED");
    given.user = user;
    await refused(400, "BAD_REQUEST");
    order.amount = 900;
    await refused(404, "MARKET_NOT_FOUND");
    order.marketId = marketId;
    await refused(400, "MARKET_SUSPENDED");
    await operator.resumeMarket({ id: marketId });
    await refused(403, "KYC_REQUIRED");
    await verify(user, "passed", 1, "US-NY");
    await refused(403, "ACCOUNT_RESTRICTED");
    await operator.releaseUser({ id: user });
    await refused(403, "JURISDICTION_BLOCKED");
    await verify(user, "passed", 2, "AE");
    await refused(403, "SUITABILITY_REQUIRED");
    await tenant.api(user).submitSuitability({ answers: { a: 4, b: 4, c: 4, d: 4 } });
    await refused(400, "MAX_TRADE_EXCEEDED");
    await operator.updatePolicy({ maxTradeUsd: 1000 });
    await refused(400, "EXPOSURE_EXCEEDED");
    await operator.updatePolicy({ maxUserExposureUsd: 10_000 });
    await refused(400, "INSUFFICIENT_FUNDS");
    await tenant.deposit(user, 2000);
    await refused(400, "PRICE_BOUND");
    order.amount = 2;
    await refused(400, "SLIPPAGE");
    delete order.maxAvgPrice;
    const filled = await call(path, given);
    expect(filled.status).toBe(200);
    expect(await filled.json()).toMatchObject({ marketId, amount: 2, side: "yes" });
    await operator.updatePolicy({ jurisdictions: { blocked: [] }, suitabilityRequired: false });
  });

  test("a settled market is refused before the user is checked", async () => {
    const marketId = await tenant.market();
    await tenant.api().settleMarket({ marketId, outcome: "no" });
    const selection = path === "/v1/trade" ? { side: "yes" } : { outcome: 1 };
    const body = { marketId, selection, amount: 1 };
    await expectRefusal(await call(path, { key: PUBLIC_KEY, user: "nobody", body }), 400, "MARKET_SETTLED");
  });
});

test("the role comes before the shape: a public key learns nothing of an admin's operation", async () => {
  for (const path of ["/v1/withdrawals/x/approve", "/v1/users/x/credit", "/v1/users/x/restrict"])
    await expectRefusal(await call(path, { key: PUBLIC_KEY, body: {} }), 403, "FORBIDDEN");
  for (const path of ["/v1/withdrawals?limit=0", "/v1/users/x", "/v1/hedge/exposure"])
    await expectRefusal(await call(path, { key: PUBLIC_KEY }), 403, "FORBIDDEN");
});

describe("a quote over HTTP", () => {
  test("needs no user; one that is named is judged, and a bad token is refused", async () => {
    const marketId = await tenant.market();
    const body = { marketId, selection: { side: "yes" }, amount: 10 };
    const anonymous = await call("/v1/quote", { key: PUBLIC_KEY, body });
    expect(anonymous.status).toBe(200);
    expect(await anonymous.json()).toMatchObject({ marketId, amount: 10, fee: 0.1 });
    await expectRefusal(await call("/v1/quote", { key: PUBLIC_KEY, user: "new", body }), 403, "KYC_REQUIRED");
    const headers = { "x-api-key": PUBLIC_KEY, authorization: "Bearer a.b.c", "content-type": "application/json" };
    const forged = await fetch(`${server.url}/v1/quote`, { method: "POST", headers, body: JSON.stringify(body) });
    await expectRefusal(forged, 401, "USER_REQUIRED");
  });
});

describe("the statement as a table", () => {
  test("is text/csv with one column per field, and harmless in a spreadsheet", async () => {
    const traderId = "usr_csv";
    await tenant.services.sequencer.submit({
      command: {
        type: "recordDeposit",
        provider: "payments",
        traderId,
        amountMicro: 1n,
        reference: '=HYPERLINK("http://evil","x")',
      },
      actor: "provider:payments",
    });
    await tenant.deposit(traderId, 12.5);
    const response = await call("/v1/statement?format=csv", { key: PUBLIC_KEY, user: traderId });
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="statement.csv"');
    const [header, newest, oldest, end] = (await response.text()).split("\r\n");
    expect(header).toBe(
      "seq,ts,type,amount,owed,balance,marketId,tradeId,withdrawalId,reference,from,outcome,reason,question",
    );
    expect(newest).toMatch(/^\d+,20\d\d-.*Z,wallet\.credited,12\.5,,12\.500001,,,,tx_\d+,,,,$/);
    expect(oldest).toMatch(/,0\.000001,,0\.000001,,,,"'=HYPERLINK\(""http:\/\/evil"",""x""\)",,,,$/);
    expect(end).toBe("");
    const json = await call("/v1/statement?limit=1", { key: PUBLIC_KEY, user: traderId });
    expect(json.headers.get("content-type")).toBe("application/json");
    expect(json.headers.get("next-cursor")).not.toBeNull();
    const bad = await call("/v1/statement?format=xml", { key: PUBLIC_KEY, user: traderId });
    await expectRefusal(bad, 400, "BAD_REQUEST");
  });
});

test("a withdrawal asked for twice with one Idempotency-Key takes the money once", async () => {
  await tenant.deposit("usr_idem", 100);
  const headers = {
    "x-api-key": PUBLIC_KEY,
    authorization: `Bearer ${await userToken({ sub: "usr_idem" })}`,
    "content-type": "application/json",
    "idempotency-key": "w1",
  };
  const ask = () => fetch(`${server.url}/v1/withdrawals`, { method: "POST", headers, body: '{"amount": 60}' });
  const answers = await Promise.all([ask(), ask(), ask()]);
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect(new Set(texts).size).toBe(1);
  expect(await tenant.api("usr_idem").getWallet({})).toMatchObject({ balanceUsd: 40, pendingWithdrawalsUsd: 60 });
});

test("a sale with one Idempotency-Key sells once", async () => {
  const marketId = await tenant.market();
  await verify("usr_sale", "passed", 1);
  await tenant.deposit("usr_sale", 100);
  await tenant.api("usr_sale").placeTrade({ marketId, selection: { side: "no" }, amount: 50 });
  const headers = {
    "x-api-key": ADMIN_KEY,
    authorization: `Bearer ${await userToken({ sub: "usr_sale" })}`,
    "content-type": "application/json",
    "idempotency-key": "s1",
  };
  const body = JSON.stringify({ marketId, selection: { side: "no", action: "sell" }, shares: 30 });
  const sell = () => fetch(`${server.url}/v1/trade`, { method: "POST", headers, body });
  const [first, second] = [await sell(), await sell()];
  expect(second.headers.get("idempotent-replayed")).toBe("true");
  expect(await second.text()).toBe(await first.text());
  expect(await tenant.faults()).toEqual([]);
});
