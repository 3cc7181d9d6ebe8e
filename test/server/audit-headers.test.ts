import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/server/openapi/openapi.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, userToken } from "./support/harness.ts";

const tenant = tenantOfTests();

const SEAL = ["audit-seq", "audit-hash", "audit-time", "audit-key-id"];
const sealOf = ({ headers }: Response) => SEAL.map((name) => headers.get(name));

const call = (method: string, path: string, { body, key, headers }: Call = {}) =>
  fetch(tenant.url + path, {
    method,
    headers: {
      "x-api-key": key ?? ADMIN_KEY,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
interface Call {
  body?: unknown;
  key?: string;
  headers?: Record<string, string>;
}

async function entry(seq: string | null) {
  const response = await call("GET", `/v1/audit?after=${Number(seq) - 1}&limit=1`);
  const { entries } = (await response.json()) as { entries: Record<string, unknown>[] };
  return entries[0];
}

async function openMarket(headers: Record<string, string> = {}) {
  const body = {
    question: "Sealed?",
    category: "test",
    kind: "cpmm",
    p0: 0.5,
    closeAt: "2096-01-01T00:00:00Z",
    resolutionRef: "manual",
  };
  const response = await call("POST", "/v1/markets", { body, headers });
  expect(response.status).toBe(200);
  return { response, id: ((await response.json()) as { id: string }).id };
}

describe("the answer to a change names its audit entry", () => {
  test("for an operator", async () => {
    const { response, id } = await openMarket();
    const [seq = null, hash, ts, keyId] = sealOf(response);
    expect(await entry(seq)).toMatchObject({
      seq: Number(seq),
      hash,
      ts,
      keyId,
      type: "market.created",
      payload: { marketId: id },
    });
  });

  test("for a user, and beside an entity tag", async () => {
    const headers = { authorization: `Bearer ${await userToken()}` };
    const answered = await call("POST", "/v1/suitability", { body: { answers: { a: 1 } }, key: PUBLIC_KEY, headers });
    expect(await entry(answered.headers.get("audit-seq"))).toMatchObject({ type: "suitability.submitted" });
    const put = await call("PUT", "/v1/policy", { body: { feeBps: 77 } });
    expect(put.headers.get("etag")).toMatch(/^"\d+"$/);
    expect(await entry(put.headers.get("audit-seq"))).toMatchObject({ type: "policy.updated" });
  });

  test("and not to a read, a refusal, a change of nothing, or a repeat", async () => {
    const none = [null, null, null, null];
    expect(sealOf(await call("GET", "/v1/policy"))).toEqual(none);
    expect(sealOf(await call("POST", "/v1/markets/mkt_none/suspend"))).toEqual(none);
    const { id } = await openMarket();
    expect(sealOf(await call("POST", `/v1/markets/${id}/suspend`))).not.toContain(null);
    expect(sealOf(await call("POST", `/v1/markets/${id}/suspend`))).toEqual(none);
    await openMarket({ "idempotency-key": "sealed once" });
    const { response } = await openMarket({ "idempotency-key": "sealed once" });
    expect(response.headers.get("idempotent-replayed")).toBe("true");
    expect(sealOf(response)).toEqual(none);
  });
});

test("a reconciliation that is asked for again under its key puts nothing more on record", async () => {
  const run = (key: string) => call("POST", "/v1/reconcile", { headers: { "idempotency-key": key } });
  const first = await run("nightly");
  const answer = await first.json();
  const again = await run("nightly");
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(await again.json()).toEqual(answer);
  const next = await run("the next one");
  expect(Number(next.headers.get("audit-seq"))).toBe(Number(first.headers.get("audit-seq")) + 1);
});

test("a reconciliation says when every row was last compared, beside its entry", async () => {
  const before = Date.now();
  for (const query of ["", "?full=true", "?full=false"]) {
    const response = await call("POST", `/v1/reconcile${query}`);
    const { ok, verifiedAt } = (await response.json()) as { ok: boolean; verifiedAt: string };
    expect({ ok, seal: sealOf(response).includes(null) }).toEqual({ ok: true, seal: false });
    expect(response.headers.get("ledger-verified-at")).toBe(verifiedAt);
    expect(Date.parse(verifiedAt)).toBeGreaterThanOrEqual(before - 1);
  }
  expect((await call("POST", "/v1/reconcile?full=yes")).status).toBe(400);
});

test("one key for a reconciliation and for a full one is refused, since they ask for different things", async () => {
  const headers = { "idempotency-key": "reconciled" };
  expect((await call("POST", "/v1/reconcile", { headers })).status).toBe(200);
  const other = await call("POST", "/v1/reconcile?full=true", { headers });
  expect(other.headers.get("error-code")).toBe("IDEMPOTENCY_MISMATCH");
});

test("the audit status says when the whole chain was last verified", async () => {
  const before = Date.now();
  const response = await call("GET", "/v1/audit/status");
  expect(await response.json()).toMatchObject({ verified: true });
  const verifiedAt = Date.parse(response.headers.get("audit-verified-at") ?? "");
  expect(verifiedAt).toBeGreaterThanOrEqual(before - 1);
  expect(verifiedAt).toBeLessThanOrEqual(Date.now());
});

test("an entry with unreadable text is listed as it is, and the status says that the chain is broken", async () => {
  const { sql } = tenant.backend;
  const [before] = await sql`select payload from audit where seq = 2`;
  await sql`update audit set payload = '{"broken' where seq = 2`;
  expect(await entry("2")).toMatchObject({ seq: 2, payload: {}, payloadText: '{"broken' });
  expect(await (await call("GET", "/v1/audit/status")).json()).toMatchObject({ verified: false });
  await sql`update audit set payload = ${before?.payload} where seq = 2`;
});

test("the document describes these headers where they can come", () => {
  const { paths } = openApiDocument() as {
    paths: Record<string, Record<string, { responses: Record<string, { headers: Record<string, unknown> }> }>>;
  };
  const headersOf = (path: string, method: string) => Object.keys(paths[path]?.[method]?.responses[200]?.headers ?? {});
  expect(headersOf("/v1/audit/status", "get")).toContain("Audit-Verified-At");
  expect(headersOf("/v1/reconcile", "post")).toEqual(expect.arrayContaining(["Ledger-Verified-At", "Audit-Seq"]));
  expect(headersOf("/v1/trade", "post")).toEqual(expect.arrayContaining(["Audit-Seq", "Audit-Hash"]));
  expect(headersOf("/v1/policy", "put")).toContain("Audit-Seq");
  expect(headersOf("/v1/policy", "get")).not.toContain("Audit-Seq");
  expect(headersOf("/v1/session", "post")).not.toContain("Audit-Seq");
});
