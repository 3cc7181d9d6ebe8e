import { expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { WireResult } from "../../src/contract/operations.ts";
import { quantileMs, RecentRequests } from "../../src/server/observe/recent-requests.ts";
import { RequestMetrics } from "../../src/server/observe/request-metrics.ts";
import { SERVER_ID } from "../../src/services/tenant/identifiers.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY } from "./support/harness.ts";

const tenant = tenantOfTests({ rateLimit: { perMinute: 40, adminPerMinute: 90 } });

async function read<Answer>(path: string, key = ADMIN_KEY): Promise<Answer> {
  const response = await fetch(`${tenant.url}${path}`, { headers: { "x-api-key": key } });
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

test("a quantile is estimated within its bucket, as Prometheus does it, and is null without a request", () => {
  const counts = (...first: number[]) => [...first, ...Array.from({ length: 14 - first.length }, () => 0)];
  expect(quantileMs(counts(), 0.5)).toBeNull();
  // Half of four requests: the end of the first bucket. Of 99 %: near the end of the second, up to 2.5 ms.
  expect(quantileMs(counts(2, 2), 0.5)).toBe(1);
  expect(quantileMs(counts(2, 2), 0.99)).toBeCloseTo(1 + 1.5 * 0.98, 3);
  expect(quantileMs([...counts().slice(0, 13), 3], 0.5)).toBe(10_000);
});

test("the last minutes are what the counts have grown by since the oldest of five marks", () => {
  const requests = new RequestMetrics();
  const [trades, pages] = [requests.forRoute("/v1/trade", "POST", true), requests.forRoute("/m/:id", "GET", false)];
  trades.observe(200, 0.5, undefined);
  const recent = new RecentRequests(requests);
  expect(recent.read()).toMatchObject({ requests: 0, p99Ms: null, groups: [] });
  trades.observe(429, 0.0001, "RATE_LIMITED");
  trades.observe(500, 0.002, "INTERNAL");
  pages.observe(200, 0.0001, undefined);
  expect(recent.read()).toMatchObject({ requests: 3, failed: 1, tooMany: 1 });
  expect(recent.read().groups).toMatchObject([
    { group: "trading", requests: 2, failed: 1, tooMany: 1 },
    { group: "pages", requests: 1, failed: 0, tooMany: 0 },
  ]);
  for (let minute = 0; minute < 5; minute++) recent.mark();
  expect(recent.read()).toMatchObject({ requests: 0 });
});

test("an operator reads the servers, the database, the queue, response times and who is near to a limit", async () => {
  await read("/v1/markets", PUBLIC_KEY);
  const status = await read<WireResult<"getServer">>("/v1/server");
  expect(status).toMatchObject({
    ...{ answeredBy: SERVER_ID, queue: 0, certificates: null, lastBackup: null },
    database: { survives: expect.any(String), standbys: [], required: 0, version: expect.stringMatching(/^\d/) },
    recent: { failed: 0, tooMany: 0, p50Ms: expect.any(Number), p99Ms: expect.any(Number) },
  });
  expect(status.recent?.groups.map(({ group }) => group)).toContain("markets");
  expect(status.clients).toContainEqual(expect.objectContaining({ kind: "admin", client: "ops", limit: 90 }));
  expect(status.clients).toContainEqual(
    expect.objectContaining({ kind: "address", client: "127.0.0.1", requests: 1, limit: 40 }),
  );
  const response = await fetch(`${tenant.url}/v1/server`, { headers: { "x-api-key": PUBLIC_KEY } });
  expect(response.status).toBe(403);
});

test("a command on the database knows its servers by their work, and nothing that only a server counts", async () => {
  const { services } = tenant;
  const { serving } = services;
  const { recent, limitOf } = serving;
  const holder = "elsewhere-7-aa";
  await services.pool.note(
    (sql) => sql`insert into lease (work, holder, until) values ('oracle', ${holder}, 4000000000000)`,
  );
  for (const name of ["recent", "limitOf"] as const) delete serving[name];
  const status = await localApi(services.handlers, { actor: "cli:test" }).getServer({});
  Object.assign(serving, { recent, limitOf });
  expect(status).toMatchObject({ answeredBy: null, recent: null, certificates: null, lastBackup: null });
  expect(status.servers).toEqual([{ server: holder, version: null, since: null, url: null, work: ["oracle"] }]);
});

test("refusals are listed newest first, page by page and by code", async () => {
  const post = (path: string) =>
    fetch(`${tenant.url}${path}`, {
      method: "POST",
      headers: { "x-api-key": ADMIN_KEY, "content-type": "application/json" },
      body: "{}",
    });
  const ids = [];
  for (const path of ["/v1/markets/mkt_none/suspend", "/v1/markets/mkt_none/resume", "/v1/markets"])
    ids.push((await post(path)).headers.get("request-id"));
  const first = await fetch(`${tenant.url}/v1/refusals?limit=2`, { headers: { "x-api-key": ADMIN_KEY } });
  const page = (await first.json()) as { requestId: string }[];
  expect(page).toHaveLength(2);
  const cursor = encodeURIComponent(first.headers.get("next-cursor") ?? "");
  const rest = await read<{ requestId: string }[]>(`/v1/refusals?limit=2&cursor=${cursor}`);
  expect([...page, ...rest].map(({ requestId }) => requestId).toSorted()).toEqual(ids.toSorted());
  const found = await read<{ requestId: string; code: string }[]>("/v1/refusals?code=MARKET_NOT_FOUND");
  expect(found.map(({ requestId }) => requestId).toSorted()).toEqual(ids.slice(0, 2).toSorted());
});
