import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunningServer } from "../../src/server/server.ts";
import { openTestTenant, PUBLIC_KEY, type TestTenant } from "../support/tenant.ts";
import { serveServices, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const LIMIT = 8;

let tenant: TestTenant;
let servers: [RunningServer, RunningServer];
let marketId: string;
beforeAll(async () => {
  tenant = await openTestTenant({ processes: 2 });
  const [first, second] = await Promise.all(
    tenant.processes.map((services) =>
      serveServices(services, { rateLimit: { perMinute: 1_000_000, heldQuotesPerMinute: LIMIT } }),
    ),
  );
  if (!first || !second) throw new Error("There are two processes");
  servers = [first, second];
  for (const user of ["ann", "bob", "cat"]) await tenant.deposit(user, 1000);
  marketId = await tenant.market();
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await tenant.close();
});

const order = () => ({ marketId, selection: { side: "yes" }, amount: 25 });

async function post(path: string, body: object | string, user?: string, server = servers[0], key?: string) {
  const headers: Record<string, string> = { "x-api-key": PUBLIC_KEY, "content-type": "application/json" };
  if (user !== undefined) headers.authorization = `Bearer ${await userToken({ sub: user })}`;
  if (key !== undefined) headers["idempotency-key"] = key;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(server.url + path, { method: "POST", headers, body: text });
}

const hold = (user?: string, server = servers[0]) => post("/v1/quote", { ...order(), hold: true }, user, server);

/** The metric of both processes together, by result. */
async function heldQuotes(): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { opsUrl } of servers) {
    const text = await (await fetch(`${opsUrl}/metrics`)).text();
    for (const [, result = "", count] of text.matchAll(/^pmctl_held_quotes_total\{result="(\w+)"\} (\d+)$/gm))
      sums[result] = (sums[result] ?? 0) + Number(count);
  }
  return sums;
}

test("a quote that one server held executes at the other, once, and the metrics count what became of it", async () => {
  expect(await heldQuotes()).toEqual({ issued: 0, executed: 0, moved: 0, expired: 0, invalid: 0 });
  const { quote } = (await (await hold("ann")).json()) as { quote: string };
  const trade = { ...order(), quote };
  const use = (user: string, key?: string) => post("/v1/trade", trade, user, servers[1], key);
  await expectRefusal(await use("bob"), 400, "QUOTE_INVALID");
  const first = await use("ann", "k1");
  expect(first.status).toBe(200);
  const repeated = await use("ann", "k1");
  expect(repeated.headers.get("idempotent-replayed")).toBe("true");
  expect(await repeated.json()).toEqual(await first.json());
  await expectRefusal(await use("ann"), 400, "QUOTE_MOVED");
  expect(await heldQuotes()).toEqual({ issued: 1, executed: 1, moved: 1, expired: 0, invalid: 1 });
});

test("holding needs a user, the form is checked first, and a quote of a plain request is none", async () => {
  await expectRefusal(await hold(), 401, "USER_REQUIRED");
  await expectRefusal(await post("/v1/quote", { ...order(), hold: "yes" }), 400, "BAD_REQUEST");
  expect(await (await post("/v1/quote", order(), "ann")).json()).not.toHaveProperty("quote");
  for (const quote of ["", "x".repeat(2049), 7, null, ["x"], "a\u0000"])
    await expectRefusal(await post("/v1/trade", { ...order(), quote }, "ann"), 400, "BAD_REQUEST");
  for (const quote of ["x".repeat(2048), "\u{1f600}", "[]", "WzBd"])
    await expectRefusal(await post("/v1/trade", { ...order(), quote }, "ann"), 400, "QUOTE_INVALID");
});

test("a field that stands twice cannot trade on other terms than were quoted", async () => {
  const { quote } = (await (await hold("bob")).json()) as { quote: string };
  const body = JSON.stringify({ ...order(), quote });
  const twice = [body.replace("{", '{"amount":1,'), body.replace(/}$/, ',"amount":1}')];
  const statuses = [];
  for (const text of twice) statuses.push((await post("/v1/trade", text, "bob")).status);
  // The last of two wins or both are refused; in neither case is anything but the quoted amount traded.
  const { items } = await tenant.api("bob").listOrders({});
  expect(items.every(({ amount }) => amount === 25)).toBe(true);
  expect(statuses).toContain(400);
});

test("a user holds so many a minute at all servers together; then it is 429 until the window ends", async () => {
  const asked = await Promise.all(Array.from({ length: LIMIT * 2 }, (_, n) => hold("cat", servers[n % 2])));
  const refused = asked.filter(({ status }) => status === 429);
  expect(asked.filter(({ status }) => status === 200)).toHaveLength(LIMIT);
  expect(refused).toHaveLength(LIMIT);
  for (const response of refused) {
    const retryAfter = Number(response.headers.get("retry-after"));
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(response.headers.get("ratelimit-limit")).toBe(String(LIMIT));
    await expectRefusal(response, 429, "RATE_LIMITED");
  }
  expect((await hold("ann")).status).toBe(200);
  expect((await post("/v1/quote", order(), "cat")).status).toBe(200);
});
