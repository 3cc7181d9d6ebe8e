import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operations.ts";
import { webhookBodies, webhookEventTypes } from "../../src/contract/resources/webhooks.ts";
import { FAULT_CODES } from "../../src/domain/fault.ts";
import { openApiDocument } from "../../src/server/openapi/openapi.ts";
import { serverOfTests } from "./support/during-tests.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document is read by path here
type Json = Record<string, any>;

const document = JSON.parse(JSON.stringify(openApiDocument({ baseUrl: "https://predict.acme.example" }))) as Json;
const rows = Object.entries(operations as Record<string, Operation>);
const methods = ["get", "put", "post", "delete"];
const described = Object.entries(document.paths as Json).flatMap(([path, item]) =>
  methods.filter((method) => item[method]).map((method) => ({ path, method, ...item[method] }) as Json),
);

function* walk(value: unknown): Generator<Json> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield value as Json;
  for (const item of Object.values(value)) yield* walk(item);
}

describe("the OpenAPI document", () => {
  test("is 3.1 and names the tenant's address", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.servers).toEqual([{ url: "https://predict.acme.example" }]);
    expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) });
  });

  test("says at its head that unknown query parameters are ignored, as the page of the reference does", () => {
    const page = readFileSync(new URL("../../docs/reference/api.md", import.meta.url), "utf8");
    const [head] = page.split("## Parameters");
    for (const text of [document.info.description, head])
      expect(text).toContain("The server ignores query parameters that an operation does not name.");
  });

  test("describes every operation of the table, once", () => {
    // The stream stands beside the table: it does not answer once.
    const ids = [...rows.map(([id]) => id), "streamEvents"];
    expect(described.map(({ operationId }) => operationId).toSorted()).toEqual(ids.toSorted());
    for (const [id, { method, path }] of rows) {
      const found = described.find(({ operationId }) => operationId === id);
      expect([found?.method, found?.path]).toEqual([method.toLowerCase(), path.replace(/:(\w+)/g, "{$1}")]);
    }
  });

  test("refers only to what is there, under names that are allowed", () => {
    for (const { $ref } of walk(document)) {
      if ($ref === undefined) continue;
      const target = ($ref as string)
        .replace("#/", "")
        .split("/")
        .reduce((node: Json, key) => node?.[key], document);
      expect(target, $ref).toBeTypeOf("object");
    }
    for (const kind of Object.values(document.components as Json))
      for (const name of Object.keys(kind)) expect(name).toMatch(/^[A-Za-z0-9._-]+$/);
    expect(JSON.stringify(document)).not.toMatch(/\$defs|__schema|\$schema|"\$id"|~standard/);
  });

  test("shows an explained trade in the order of its answer, with the fee in dollars", () => {
    const { properties } = document.components.schemas.ExplainedTrade as Json;
    expect(Object.keys(properties).join(" ")).toBe(
      "tradeId marketId question userId side action amount fee shares avgPrice yesPriceBefore yesPriceAfter ts entry",
    );
    expect(properties.fee).toEqual({ type: "number", description: "US dollars." });
  });

  test("gives every path segment a parameter, and every parameter once", () => {
    for (const { path, parameters = [] } of described) {
      const inPath = (parameters as Json[]).filter((one) => one.in === "path");
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      for (const one of inPath) expect(one.required).toBe(true);
      for (const one of parameters as Json[])
        expect(one).toMatchObject({ name: expect.any(String), schema: expect.any(Object) });
      const names = (parameters as Json[]).map((one) => `${one.in} ${one.name}`);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  test("states the size of a page and the length of a report's period unless they are given", () => {
    const defaults = (path: string, name: string) =>
      (document.paths[path].get.parameters as { name: string; schema: { default?: number } }[])
        .filter((parameter) => parameter.name === name)
        .map(({ schema }) => schema.default);
    expect(defaults("/v1/markets", "limit")).toEqual([50]);
    expect(defaults("/v1/reports/overview", "periodDays")).toEqual([30]);
  });

  test("gives a body to what takes one, and to nothing else", () => {
    const withBody = described.filter(({ requestBody }) => requestBody).map(({ operationId }) => operationId);
    expect(withBody).toEqual(
      expect.arrayContaining([
        "createMarket",
        "settleMarket",
        "placeTrade",
        "updatePolicy",
        "receiveKyc",
        "receivePayment",
      ]),
    );
    for (const id of ["suspendMarket", "reconcile", "listMarkets", "getHealth"]) expect(withBody).not.toContain(id);
    const kyc = described.find(({ operationId }) => operationId === "receiveKyc")?.requestBody.content[
      "application/json"
    ];
    expect(Object.keys(kyc.schema.properties)).not.toContain("tenantId");
    expect(kyc.schema.required).not.toContain("tenantId");
  });

  test("shows each outgoing event by an example that is one", () => {
    for (const type of webhookEventTypes) {
      const { example } = (document.webhooks as Json)[type].post.requestBody.content["application/json"];
      expect([type, webhookBodies[type].safeParse(example).error]).toEqual([type, undefined]);
    }
  });

  test("names the security that each operation needs", () => {
    const schemes = Object.keys(document.components.securitySchemes);
    for (const [id, { auth, optionalUser }] of rows) {
      const security = described.find(({ operationId }) => operationId === id)?.security as Json[];
      const names = security.flatMap((one) => Object.keys(one));
      for (const name of names) expect(schemes).toContain(name);
      // A token that is welcome and not needed: with or without.
      if (optionalUser) expect(names.splice(1)).toEqual(["apiKey", "userToken", "apiKey", "sessionCookie"]);
      expect(names).toEqual(
        {
          none: [],
          public: ["apiKey"],
          user: ["apiKey", "userToken", "apiKey", "sessionCookie"],
          admin: ["apiKey"],
          signature: id === "receiveStripe" ? ["stripeSignature"] : ["signature", "messageSignature"],
        }[auth],
      );
    }
  });

  test("marks what is not in the specification", () => {
    const marked = described.filter((one) => one["x-extension"] === true).map(({ operationId }) => operationId);
    const rowsMarked = rows.flatMap(([id, { extension }]) => (extension ? [id] : []));
    expect(marked.toSorted()).toEqual([...rowsMarked, "streamEvents"].toSorted());
    expect(marked).toContain("quoteTrade");
    expect(marked).not.toContain("placeTrade");
  });

  test("lists the codes of each refusal", () => {
    const listed = described.flatMap(({ responses }) =>
      Object.values(responses as Json).flatMap((response) => response.headers["Error-Code"]?.schema.enum ?? []),
    );
    const codes = [...new Set(listed)];
    for (const code of codes) expect(FAULT_CODES).toContain(code);
    expect(codes).toEqual(expect.arrayContaining(["KEY_INVALID", "MARKET_CLOSED", "RATE_LIMITED", "INTERNAL"]));
    expect(codes).not.toContain("USAGE");
    for (const { responses } of described)
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(["200", "400", "429", "500"]));
  });
});

const { server } = serverOfTests({
  getHealth: async () => ({ ok: true, service: "acme", db: true, uptimeSec: 1 }),
});
test("the document is public, and describes what is served", async () => {
  const response = await fetch(`${server.url}/openapi.json`);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
  expect(Object.keys(((await response.json()) as Json).paths)).toEqual(["/health", "/v1/session"]);
});
