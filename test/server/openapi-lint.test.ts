import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, test } from "vitest";
import type { Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operations.ts";
import { openApiDocument } from "../../src/server/openapi/openapi.ts";

const source = JSON.stringify(openApiDocument({ baseUrl: "https://predict.acme.test" }), null, 1);

/** Rules of the recommended set that do not fit, each with its reason. */
const OFF: Record<string, string> = {
  "info-license": "the interface is each tenant's own, and has no licence",
};

test(`the document passes Redocly's recommended rules${Object.entries(OFF)
  .map(([rule, reason]) => `; without ${rule}: ${reason}`)
  .join("")}`, async () => {
  const rules = Object.fromEntries(Object.keys(OFF).map((rule) => [rule, "off" as const]));
  const config = await createConfig({ extends: ["recommended-strict"], rules });
  const problems = await lintFromString({ source, config });
  const lines = problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`);
  expect(lines).toEqual([]);
});

test("every example of a body is one that the operation takes", () => {
  const { paths } = JSON.parse(source) as { paths: Record<string, Record<string, Described>> };
  const described = Object.values(paths).flatMap((item) => Object.values(item));
  for (const { operationId, requestBody } of described) {
    const example = requestBody?.content["application/json"].example;
    if (!example) continue;
    const { input, path }: Operation = operations[operationId as keyof typeof operations];
    const inPath = Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, "x"]));
    const { error } = input.safeParse({ ...example, ...inPath });
    expect([operationId, error?.issues ?? []]).toEqual([operationId, []]);
  }
});

interface Described {
  operationId: string;
  requestBody?: { content: { "application/json": { example?: object } } };
}
