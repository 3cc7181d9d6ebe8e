import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const tenant = tenantOfTests();
let bearer: string;
beforeAll(async () => {
  await tenant.openMarket("mkt_a");
  await tenant.deposit("usr_1", 500);
  bearer = `Bearer ${await userToken({ sub: "usr_1" })}`;
});

const admin = { "x-api-key": ADMIN_KEY };
const json = { "content-type": "application/json" };
const get = (path: string) => fetch(tenant.url + path, { headers: admin });
const send = (path: string, body?: unknown, headers: Record<string, string> = {}, method = "POST") =>
  fetch(tenant.url + path, {
    method,
    headers: { ...admin, ...(body === undefined ? {} : json), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
const trade = (path: string, body: object, headers: Record<string, string> = {}) =>
  send(path, body, { "x-api-key": PUBLIC_KEY, authorization: bearer, ...headers });
const market = (change: object) => ({
  question: "Will it rain?",
  category: "weather",
  kind: "cpmm",
  p0: 0.5,
  closeAt: new Date(Date.now() + 3_600_000).toISOString(),
  resolutionRef: "judge",
  liquidityUsd: 1,
  ...change,
});

describe("a field that lacks", () => {
  test.each([
    ["/v1/withdrawals", { amountUsd: 5 }, "amountUsd: is unknown; did you mean amount?"],
    ["/v1/withdrawals", { Amount: 5 }, "Amount: is unknown; did you mean amount?"],
    ["/v1/withdrawals", { sum: 5 }, "amount: is required"],
  ])("is named by the one that reads like it: %s %o", async (path, body, said) => {
    const response = await trade(path, body);
    await expectRefusal(response.clone() as Response, 400, "BAD_REQUEST");
    expect(((await response.json()) as { error: string }).error).toBe(said);
  });
});

describe("a trade, an order and a quote", () => {
  const buy = { marketId: "mkt_a", selection: { side: "yes" }, amount: 2 };

  test("say whether shares were bought or sold", async () => {
    expect(await (await trade("/v1/trade", buy)).json()).toMatchObject({ action: "buy" });
    expect(await (await trade("/v1/quote", buy)).json()).toMatchObject({ action: "buy" });
    const sale = { marketId: "mkt_a", selection: { outcome: 1, action: "sell" }, shares: 1 };
    expect(await (await trade("/v1/orders", sale)).json()).toMatchObject({ action: "sell" });
    const orders = (await (
      await fetch(`${tenant.url}/v1/orders`, { headers: { "x-api-key": PUBLIC_KEY, authorization: bearer } })
    ).json()) as { action: string }[];
    expect(orders.map(({ action }) => action)).toEqual(["sell", "buy"]);
  });

  test.each([
    ["/v1/trade", { maxavgprice: 0.2 }, "maxavgprice"],
    ["/v1/orders", { selection: { outcome: 1 }, max_avg_price: 0.2 }, "max_avg_price"],
    ["/v1/quote", { minShare: 100 }, "minShare"],
    ["/v1/trade", { selection: { side: "yes", Action: "sell" } }, "selection.Action"],
    ["/v1/trade", { HedgeRef: {} }, "HedgeRef"],
  ])("are refused with a field that reads like a known one: %s %o", async (path, change, field) => {
    const response = await trade(path, { ...buy, ...change });
    await expectRefusal(response.clone() as Response, 400, "BAD_REQUEST");
    expect(((await response.json()) as { error: string }).error).toMatch(`${field}: is unknown; did you mean`);
  });

  test.each([
    ["/v1/trade", { action: "sell" }, "action", "selection.action"],
    ["/v1/trade", { side: "no" }, "side", "selection.side"],
    ["/v1/quote", { Side: "no" }, "Side", "selection.side"],
    ["/v1/orders", { selection: { outcome: 1, amount: 9 } }, "selection.amount", "amount"],
    ["/v1/trade", { selection: { side: "yes", max_avg_price: 0.1 } }, "selection.max_avg_price", "maxAvgPrice"],
    ["/v1/trade", { externalRef: "pos-7" }, "externalRef", "hedgeRef.externalRef"],
  ])("are refused with a known field at another level: %s %o", async (path, change, field, meant) => {
    const response = await trade(path, { ...buy, ...change });
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
      400,
      `${field}: is unknown; did you mean ${meant}?`,
    ]);
  });

  test("may have other unknown fields, as ever", async () => {
    expect((await trade("/v1/quote", { ...buy, clientTag: "x" })).status).toBe(200);
  });

  test("that state their side twice and differently are refused", async () => {
    await expectRefusal(
      await trade("/v1/orders", { ...buy, selection: { outcome: 1, side: "no" } }),
      400,
      "BAD_REQUEST",
    );
    await expectRefusal(
      await trade("/v1/trade", { ...buy, selection: { side: "no", outcome: 1 } }),
      400,
      "BAD_REQUEST",
    );
    expect((await trade("/v1/orders", { ...buy, selection: { outcome: 1, side: "yes" } })).status).toBe(200);
  });

  test("take null for what they may leave out", async () => {
    const response = await trade("/v1/trade", {
      ...buy,
      hedgeRef: null,
      maxAvgPrice: null,
      selection: { side: "yes", action: null },
    });
    expect(response.status).toBe(200);
    await expectRefusal(await trade("/v1/trade", { ...buy, amount: null }), 400, "BAD_REQUEST");
  });

  test("are the same request under a key in another order of fields, and another one with another amount", async () => {
    const key = { "idempotency-key": "order-of-fields" };
    const first = await trade("/v1/trade", buy, key);
    const again = await trade(
      "/v1/trade",
      '{"amount":2.0, "selection":{"side":"yes","action":null}, "marketId":"mkt_a"}' as never,
      key,
    );
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(await again.json()).toEqual(await first.json());
    const written = await trade("/v1/trade", { ...buy, selection: { side: "yes", action: "buy" } }, key);
    expect([written.status, written.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    await expectRefusal(await trade("/v1/trade", { ...buy, amount: 3 }, key), 400, "IDEMPOTENCY_MISMATCH");
  });
});

describe("what is no JSON object, no number or no path is refused:", () => {
  test("a body of another type, also where no body is read", async () => {
    for (const body of ["", "{}"])
      await expectRefusal(
        await send("/v1/markets/mkt_a/resume", body, { "content-type": "text/plain" }),
        400,
        "BAD_REQUEST",
      );
    await expectRefusal(await send("/v1/markets/mkt_a/resume", "[]"), 400, "BAD_REQUEST");
    expect((await send("/v1/markets/mkt_a/resume")).status).toBe(200);
    expect((await send("/v1/markets/mkt_a/resume", {})).status).toBe(200);
  });

  test("a policy without a body", async () => {
    await expectRefusal(await send("/v1/policy", undefined, {}, "PUT"), 400, "BAD_REQUEST");
    await expectRefusal(await send("/v1/policy", "", {}, "PUT"), 400, "BAD_REQUEST");
    expect((await send("/v1/policy", {}, {}, "PUT")).status).toBe(200);
  });

  test.each(["limit=1e1", "limit=0x10", "limit=%201", "limit=", "limit=1.5", "limit=1.0", "limit=010"])(
    "a page with %s",
    async (query) => {
      await expectRefusal(await get(`/v1/markets?${query}`), 400, "BAD_REQUEST");
    },
  );

  test("a path with a slash at its end", async () => {
    await expectRefusal(await get("/v1/markets/"), 404, "NOT_FOUND");
    await expectRefusal(await get("/health/"), 404, "NOT_FOUND");
  });

  test.each([
    [{ question: "   " }],
    [{ question: "\u00a0\u200b" }],
    [{ resolutionRef: " " }],
    [{ category: "A" }],
    [{ meta: { id: 2 ** 53 } }],
    [{ meta: { deep: [{ id: 1e20 }] } }],
  ])("a market with %o", async (change) => {
    await expectRefusal(await send("/v1/markets", market(change)), 400, "BAD_REQUEST");
  });

  test("a body with the key __proto__", async () => {
    const body = JSON.stringify(market({ meta: { a: 1 } })).replace('"a":1', '"__proto__":{"a":1}');
    await expectRefusal(await send("/v1/markets", body), 400, "BAD_REQUEST");
    const negative = JSON.stringify(market({ meta: { a: 1 } })).replace('"a":1', '"a":-0');
    await expectRefusal(await send("/v1/markets", negative), 400, "BAD_REQUEST");
  });
});

test("the first price of a market's history is its p0, whatever its liquidity", async () => {
  for (const [p0, liquidityUsd] of [
    [0.333333, 0.05],
    [0.007, 0.5],
    [0.91, 2.5],
  ] as const) {
    const { id } = (await (await send("/v1/markets", market({ p0, liquidityUsd }))).json()) as { id: string };
    const [first] = (await (await get(`/v1/markets/${id}/history`)).json()) as { yes: number }[];
    expect(first?.yes).toBe(p0);
  }
});

test("the log's `until` is the first instant that is too late", async () => {
  const page = async (query: string) =>
    (await (await get(`/v1/audit?${query}`)).json()) as { entries: { ts: string; seq: number }[] };
  const [last] = (await page("limit=1")).entries;
  const at = encodeURIComponent(last?.ts ?? "");
  const within = (await page(`since=${at}`)).entries;
  expect(within.map(({ seq }) => seq)).toContain(last?.seq);
  expect((await page(`since=${at}&until=${at}`)).entries).toEqual([]);
});

test("the ids of requests tell nothing of their number", async () => {
  const ids = new Set<string>();
  for (let round = 0; round < 50; round++) ids.add((await get("/health")).headers.get("request-id") ?? "");
  expect(ids.size).toBe(50);
  const heads = [...ids].map((id) => id.slice(0, 8));
  expect(new Set(heads).size).toBeGreaterThan(40);
  for (const id of ids) expect(id).toMatch(/^req_[A-Za-z0-9_-]{16}$/);
});

test("the OpenAPI document travels compressed where the client takes it so", async () => {
  const asked = (encoding: string) =>
    new Promise<{ encoding: string | undefined; body: Buffer }>((resolve, reject) => {
      const sent = request(`${tenant.url}/openapi.json`, { headers: { "accept-encoding": encoding } }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ encoding: response.headers["content-encoding"], body: Buffer.concat(chunks) }),
        );
      });
      sent.on("error", reject).end();
    });
  const [plain, packed] = [await asked("identity"), await asked("gzip")];
  expect([plain.encoding, packed.encoding]).toEqual([undefined, "gzip"]);
  expect(gunzipSync(packed.body)).toEqual(plain.body);
  expect(packed.body.length).toBeLessThan(plain.body.length / 5);
});
