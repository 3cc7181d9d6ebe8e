import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operations.ts";
import { webhookEventTypes } from "../../src/contract/webhooks.ts";
import { DEFAULT_POLICY } from "../../src/domain/policy.ts";
import { openApiDocument } from "../../src/server/openapi.ts";
import { configInput } from "./support/config-input.ts";
import { ADMIN_KEY, PUBLIC_KEY, userToken } from "./support/harness.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document is read by path here
type Json = Record<string, any>;

const document = JSON.parse(JSON.stringify(openApiDocument())) as Json;
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema(document, "api");
const described = Object.entries(document.paths as Json).flatMap(([path, item]) =>
  Object.entries(item as Json).map(([method, operation]) => ({ path, method, ...(operation as Json) }) as Json),
);

/** Checks a value against the schema at a place in the document. */
function expectValid(value: unknown, ...place: string[]): void {
  const pointer = place.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  const validate = ajv.getSchema(`api#/${pointer}`);
  if (!validate) throw new Error(`There is no schema at ${pointer}`);
  expect({ place: pointer, valid: validate(value), errors: validate.errors }).toEqual({
    place: pointer,
    valid: true,
    errors: null,
  });
}
const schemaOf = ({ path, method }: Json, ...rest: string[]) => ["paths", path, method, ...rest];

describe("the document", () => {
  test("holds only schemas that are schemas", () => {
    for (const [name, schema] of Object.entries(document.components.schemas as Json))
      expect([name, ajv.validateSchema(schema)]).toEqual([name, true]);
  });

  test("gives every body and answer an example that its schema accepts", () => {
    for (const operation of described) {
      const body = operation.requestBody?.content["application/json"];
      if (body)
        expectValid(body.example, ...schemaOf(operation, "requestBody", "content", "application/json", "schema"));
      for (const [status, { content }] of Object.entries(operation.responses as Json))
        if (content["application/json"])
          expectValid(
            content["application/json"].example,
            ...schemaOf(operation, "responses", status, "content", "application/json", "schema"),
          );
    }
  });

  test("shows every outgoing event as its schema has it", () => {
    const webhooks = document.webhooks as Json;
    expect(Object.keys(webhooks)).toEqual(webhookEventTypes);
    for (const [type, { post }] of Object.entries(webhooks)) {
      const { example } = post.requestBody.content["application/json"];
      expectValid(example, "webhooks", type, "post", "requestBody", "content", "application/json", "schema");
      expect([type, Object.keys(example)]).toEqual([example.type, ["type", "timestamp", "data"]]);
      expect(post.parameters.map(({ name }: Json) => name)).toEqual([
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
      ]);
    }
    expect(Object.keys(webhooks["order.filled"].post.requestBody.content["application/json"].example.data)).toEqual(
      expect.arrayContaining(["orderId", "question", "outcome", "yesPriceAfter", "hedgeRef"]),
    );
  });

  test("gives every operation words, its codes, and the order in which it refuses", () => {
    for (const { operationId, summary, description, responses } of described) {
      expect([operationId, summary]).toEqual([operationId, expect.stringMatching(/^[A-Z].*\.$/)]);
      expect(description).toContain("the first is told: `RATE_LIMITED` 429");
      for (const [status, { headers }] of Object.entries(responses as Json))
        if (Number(status) >= 400 && status !== "503")
          expect(headers["Error-Code"].schema.enum.length).toBeGreaterThan(0);
    }
    const trade = described.find(({ operationId }) => operationId === "placeTrade");
    expect(trade?.responses["403"].headers["Error-Code"].schema.enum).toContain("KYC_REQUIRED");
    expect(described.filter((one) => one["x-extension"]).map(({ operationId }) => operationId)).toEqual(
      expect.arrayContaining(["createSession", "deleteSession", "streamEvents"]),
    );
  });
});

describe("over both doors, what is answered is what the document says:", () => {
  let tenant: ServedTenant;
  let user: Record<string, string>;
  beforeAll(async () => {
    tenant = await serveTenant({ stripeSecrets: ["whsec_0123456789abcdef"] });
    await tenant.deposit("usr_1", 1000);
    await tenant.openMarket("m1");
    await tenant.openMarket("m2", { kind: "lmsr" });
    user = { authorization: `Bearer ${await userToken()}` };
  });
  afterAll(() => tenant.close());

  const trade = { marketId: "m1", selection: { side: "yes" }, amount: 25 };
  const closeAt = new Date(Date.now() + 7_200_000).toISOString();
  const market = { question: "Rain?", category: "weather", kind: "lmsr", p0: 0.4, closeAt, resolutionRef: "manual" };
  const terms = (maxTradeUsd: number) => ({ policy: { ...DEFAULT_POLICY, maxTradeUsd }, kycRequired: true });
  const script: [id: string, input: Record<string, unknown>][] = [
    ["getHealth", {}],
    ["listMarkets", { limit: 1 }],
    ["getMarket", { id: "m1" }],
    ["getMarket", { id: "unknown" }],
    ["createMarket", market],
    ["createMarket", { ...market, p0: 1 }],
    ["placeTrade", trade],
    ["placeTrade", { ...trade, amount: 1e6 }],
    ["placeTrade", { ...trade, amount: -1 }],
    ["placeOrder", { marketId: "m2", selection: { outcome: 0 }, amount: 5 }],
    ["listPositions", {}],
    ["submitSuitability", { answers: { a: 4 } }],
    ["getSuitability", {}],
    ["suspendMarket", { id: "m2" }],
    ["resumeMarket", { id: "m2" }],
    ["settleMarket", { marketId: "m2", outcome: "no" }],
    ["getPolicy", {}],
    ["updatePolicy", { feeBps: 25 }],
    ["updatePolicy", { feebps: 25 }],
    ["listAudit", { limit: 3 }],
    ["getAuditStatus", {}],
    ["reconcile", {}],
    ["listTrendingMarkets", {}],
    ["getMarketHistory", { id: "m1" }],
    ["getMarketDepth", { id: "m1" }],
    ["getOverviewReport", {}],
    ["getHouseReport", {}],
    ["getTradersReport", {}],
    ["getFundingReport", {}],
    ["listRisk", {}],
    ["getHedgeExposure", {}],
    ["getOracleStatus", {}],
    ["listHeldMarkets", {}],
    ["createSession", {}],
    ["explainLedger", {}],
    ["listLatestPrices", { feeds: [{ key: "pm:btc", sources: [{ use: "coinbase", id: "BTC-USD" }] }] }],
    ["getConfig", {}],
    ["listApplies", { limit: 1 }],
    ["getApply", { seq: 1 }],
    ["getApply", { seq: 999 }],
    ["previewPolicy", { before: terms(500), after: terms(20) }],
    ["previewPolicy", { before: terms(500), after: terms(-1) }],
    ["applyConfig", { tenant: "other" }],
    ["applyConfig", configInput({ tenant: "other" })],
    ["applyConfig", configInput({ ifVersion: 99 })],
  ];

  test.each(script)("%s %j", async (id, input) => {
    const operation = described.find(({ operationId }) => operationId === id) as Json;
    const row = (operations as Record<string, Operation>)[id] as Operation;
    const isServed = tenant.services.handlers[id as "getHealth"] !== undefined;
    const rest = new Map(Object.entries(input));
    const path = row.path.replace(/:(\w+)/g, (_, name: string) => {
      const value = String(rest.get(name));
      rest.delete(name);
      return value;
    });
    const isRead = row.method === "GET";
    const query = isRead && rest.size > 0 ? `?${new URLSearchParams([...rest] as [string, string][])}` : "";
    const response = await fetch(`${tenant.url}${path}${query}`, {
      method: row.method,
      headers: {
        "x-api-key": row.auth === "admin" ? ADMIN_KEY : PUBLIC_KEY,
        "content-type": "application/json",
        ...user,
      },
      ...(isRead || rest.size === 0 ? {} : { body: JSON.stringify(Object.fromEntries(rest)) }),
    });
    const body: unknown = await response.json();
    const status = String(response.status);
    if (response.ok || isServed) {
      expectValid(body, ...schemaOf(operation, "responses", status, "content", "application/json", "schema"));
      const { headers } = operation.responses[status] as Json;
      const code = response.headers.get("error-code");
      if (code !== null) expect(headers["Error-Code"].schema.enum).toContain(code);
      for (const [name] of response.headers)
        if (/^(etag|next-cursor|link|retry-after|ratelimit-|request-id)/.test(name))
          expect(Object.keys(headers).map((one) => one.toLowerCase())).toContain(name);
    }
    if (!isServed) return;
    const api = localApi(tenant.services.handlers, { actor: "admin:ops", user: { id: "usr_1" } }) as unknown as Record<
      string,
      (input: unknown) => Promise<unknown>
    >;
    const local = await api[id]?.(input).catch((error: { code: string; status: number }) => error);
    if (local instanceof Error) {
      const { code, status: refused } = local as Error & { code: string; status: number };
      expect(operation.responses[refused].headers["Error-Code"].schema.enum).toContain(code);
    } else {
      const value = row.paged ? (local as { items: unknown }).items : local;
      expectValid(value, ...schemaOf(operation, "responses", "200", "content", "application/json", "schema"));
    }
  });
});
