import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunningServer } from "../../src/server/server.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, AUDIT_SECRET, PUBLIC_KEY, serveServices, TENANT, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const tenant = tenantOfTests();
const others: { services: TenantServices; server: RunningServer }[] = [];
let urls: string[];
let authorization: string;
beforeAll(async () => {
  for (let count = 0; count < 2; count++) {
    const connection = tenant.backend.database.server;
    const services = await openTenant({ tenantId: TENANT, connection, auditSecret: AUDIT_SECRET });
    others.push({ services, server: await serveServices(services) });
  }
  urls = [tenant.url, ...others.map(({ server }) => server.url)];
  authorization = `Bearer ${await userToken({ sub: "ann" })}`;
  await tenant.deposit("ann", 1000);
  await tenant.openMarket("mkt_1");
});
afterAll(async () => {
  for (const { services, server } of others) {
    await server.close();
    await services.close();
  }
});

const trade = (url: string, amount: number, idempotencyKey?: string) =>
  fetch(`${url}/v1/trade`, {
    method: "POST",
    headers: {
      "x-api-key": PUBLIC_KEY,
      "content-type": "application/json",
      authorization,
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    },
    body: JSON.stringify({ marketId: "mkt_1", selection: { side: "yes" }, amount }),
  });
const policy = (url: string, change?: object) =>
  fetch(`${url}/v1/policy`, {
    method: change ? "PUT" : "GET",
    headers: { "x-api-key": ADMIN_KEY, "content-type": "application/json" },
    ...(change && { body: JSON.stringify(change) }),
  });

test("a request sent to every server at once with one Idempotency-Key is one trade, and every server answers with it", async () => {
  const answers = await Promise.all(urls.map((url) => trade(url, 5, "once")));
  const trades = await Promise.all(answers.map((answer) => answer.json()));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(trades[0]).toHaveProperty("tradeId");
  expect(trades).toEqual([trades[0], trades[0], trades[0]]);
  expect(await tenant.audit("trade.executed")).toHaveLength(1);
});

test("a policy changed at one server is that of the next trade and the next read at every other", async () => {
  for (const [at, url] of urls.entries()) {
    const maxTradeUsd = 10 + at;
    expect((await policy(url, { maxTradeUsd })).status).toBe(200);
    for (const each of urls) {
      await expectRefusal(await trade(each, maxTradeUsd + 1), 400, "MAX_TRADE_EXCEEDED");
      expect(await (await policy(each)).json()).toMatchObject({ maxTradeUsd });
    }
  }
});
