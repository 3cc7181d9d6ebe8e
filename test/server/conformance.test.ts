import { createHmac } from "node:crypto";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { operationIds, operations } from "../../src/contract/operations.ts";
import { webhookEventTypes } from "../../src/contract/resources/webhooks.ts";
import { openApiDocument } from "../../src/server/openapi/openapi.ts";
import { SCRIPT } from "./support/conformance-script.ts";
import { ADMIN_KEY, PUBLIC_KEY, TENANT, userToken, WEBHOOK_SECRET } from "./support/harness.ts";
import { signed } from "./support/stripe.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document is read by path here
type Json = Record<string, any>;

const STRIPE_SECRET = "whsec_stripe-of-conformance-0123456789";
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

  test("gives every body and answer an example that its schema accepts, and all errors the one of their schema", () => {
    const [errorExample] = (document.components.schemas as Json).Error.examples;
    for (const operation of described) {
      const body = operation.requestBody?.content["application/json"];
      if (body)
        expectValid(body.example, ...schemaOf(operation, "requestBody", "content", "application/json", "schema"));
      for (const [status, { content }] of Object.entries(operation.responses as Json))
        if (content?.["application/json"])
          expectValid(
            content["application/json"].example ?? (Number(status) < 400 ? undefined : errorExample),
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
      expect(description).toContain("the first of these is returned: `UNKNOWN_HOST` 404, `RATE_LIMITED` 429");
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

test("says where a read or a change may find no connection to the database", () => {
  for (const { operationId, responses } of described.filter((one) => one.operationId !== "getHealth")) {
    expect([operationId, responses["503"]?.headers["Error-Code"].schema.enum]).toEqual([operationId, ["OVERLOADED"]]);
    expect(Object.keys(responses["503"].headers)).toContain("Retry-After");
  }
});

describe("over both doors, what is answered is what the document says:", () => {
  let tenant: ServedTenant;
  let user: Record<string, string>;
  const known = new Map<string, string>();
  beforeAll(async () => {
    tenant = await serveTenant({ stripeSecrets: [STRIPE_SECRET] });
    await tenant.deposit("usr_1", 1000);
    await tenant.openMarket("m1");
    await tenant.openMarket("m2", { kind: "lmsr" });
    const terms = { marketId: "m1", traderId: "usr_1", side: "yes", amountMicro: 5_000_000n } as const;
    const placed = { ...terms, type: "placeTrade", id: "trd_1", claimedJurisdiction: undefined } as const;
    await tenant.services.sequencer.submit({ command: placed, actor: "user:usr_1" });
    const api = localApi(tenant.services.handlers, { actor: "user:usr_1", user: { id: "usr_1" } });
    for (const name of ["$approved", "$rejected"])
      known.set(name, (await api.requestWithdrawal({ amount: 5 })).withdrawalId);
    await tenant.backend.sql`insert into webhook_receiver (name, fingerprint, position) values ('crm', 'x', 0)`;
    await tenant.backend.sql`
      insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
      values ('crm', 'evt_1', 1, 'order.filled', 'dead', 8, ${Date.now()}, 0)`;
    user = { authorization: `Bearer ${await userToken()}` };
  });
  afterAll(() => tenant.close());

  test("every operation is asked", () => {
    expect(new Set(SCRIPT.map(([id]) => id))).toEqual(new Set(operationIds));
  });

  test.each(SCRIPT)("%s %j", async (id, stated) => {
    const operation = described.find(({ operationId }) => operationId === id) as Json;
    const input = Object.fromEntries(
      Object.entries(stated).map(([name, value]) => [name, known.get(String(value)) ?? value]),
    );
    const row = operations[id] as Operation;
    const isServed = Object.hasOwn(tenant.services.handlers, id);
    const rest = new Map(Object.entries({ ...(row.auth === "signature" ? { tenantId: TENANT } : {}), ...input }));
    const path = row.path.replace(/:(\w+)/g, (_, name: string) => {
      const value = String(rest.get(name));
      rest.delete(name);
      return value;
    });
    const isRead = row.method === "GET";
    const query = isRead && rest.size > 0 ? `?${new URLSearchParams([...rest] as [string, string][])}` : "";
    const text = JSON.stringify(Object.fromEntries(rest));
    const signature =
      id === "receiveStripe"
        ? { "stripe-signature": signed(text, { secret: STRIPE_SECRET }) }
        : { "x-signature": createHmac("sha256", WEBHOOK_SECRET).update(text).digest("hex") };
    const credentials = {
      "x-api-key": row.auth === "admin" ? ADMIN_KEY : PUBLIC_KEY,
      ...(row.auth === "admin" ? {} : user),
    };
    const response = await fetch(`${tenant.url}${path}${query}`, {
      method: row.method,
      headers: {
        ...(row.auth === "signature" ? signature : credentials),
        "content-type": "application/json",
      },
      ...(isRead || rest.size === 0 ? {} : { body: text }),
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
    // What a signature is over came with the request alone.
    if (!isServed || row.auth === "signature") return;
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
