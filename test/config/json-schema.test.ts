import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { planInit } from "../../src/config/init.ts";
import { jsonSchemaOf, schemaFiles } from "../../src/config/schema/file-schemas.ts";
import type { JsonSchema } from "../../src/config/schema/json-schema.ts";
import { loadTenant } from "../../src/config/tenant-file.ts";
import { DEFAULT_POLICY } from "../../src/domain/policy/policy.ts";
import { tenantText } from "./support.ts";

const ROOT = new URL("../../", import.meta.url);

function accepts(schema: JsonSchema, yaml: string): boolean {
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(parseYaml(yaml)).success;
}

/** The place of every property without a description, its own or that of what it refers to. */
function undescribed(schema: JsonSchema): string[] {
  const missing: string[] = [];
  const visit = (node: unknown, path: string): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [name, child] of Object.entries(node)) {
      if (name !== "properties") visit(child, `${path}/${name}`);
      else
        for (const [property, described] of Object.entries(child as Record<string, JsonSchema>)) {
          if (!description(described)) missing.push(`${path}/${property}`);
          visit(described, `${path}/${property}`);
        }
    }
  };
  const description = ({ description: own, $ref, allOf }: JsonSchema): string | undefined =>
    own ?? schema.definitions?.[($ref ?? allOf?.[0]?.$ref)?.replace("#/definitions/", "") ?? ""]?.description;
  visit(schema, "");
  return missing;
}

describe.each(["tenant", "market", "operator", "fleet", "case"] as const)("the JSON Schema of the %s file", (name) => {
  // `npx vitest run test/config/json-schema.test.ts -u` writes it anew.
  test("is the one in templates/", async () => {
    const file = `${name}.schema.json`;
    await expect(schemaFiles(name)[file]).toMatchFileSnapshot(fileURLToPath(new URL(`templates/${file}`, ROOT)));
  });

  test("is draft-07, which is what editors read", () => {
    expect(jsonSchemaOf(name)).toMatchObject({ $schema: "http://json-schema.org/draft-07/schema#" });
  });

  test("describes every field", () => {
    expect(undescribed(jsonSchemaOf(name))).toEqual([]);
  });
});

describe("the JSON Schema of the tenant file", () => {
  test("accepts what init writes and the demo", () => {
    for (const template of ["minimal", "full"] as const) {
      const [tenantFile, marketFile] = planInit({ tenant: "acme", template });
      expect(accepts(jsonSchemaOf("tenant"), tenantFile?.content ?? "")).toBe(true);
      expect(accepts(jsonSchemaOf("market"), marketFile?.content ?? "")).toBe(true);
    }
    expect(accepts(jsonSchemaOf("tenant"), readFileSync(new URL("tenants/demo/tenant.yaml", ROOT), "utf8"))).toBe(true);
  });

  test("refuses unknown keys and literal secrets, as pmctl does", () => {
    expect(accepts(jsonSchemaOf("tenant"), tenantText())).toBe(true);
    expect(accepts(jsonSchemaOf("tenant"), tenantText({ kyc: "{ requird: true }" }))).toBe(false);
    expect(accepts(jsonSchemaOf("tenant"), tenantText({ audit: "{ key: literal }" }))).toBe(false);
    expect(accepts(jsonSchemaOf("tenant"), tenantText({ auth: undefined }))).toBe(false);
  });
});

test("the full template states every field of the policy", () => {
  const [tenantFile] = planInit({ tenant: "acme", template: "full" });
  const { policy } = parseYaml(tenantFile?.content ?? "");
  expect(policy).toEqual(DEFAULT_POLICY);
});

test("the demo tenant is sound, needs no network and has markets of both kinds", () => {
  const { config, markets } = loadTenant(new URL("tenants/demo/tenant.yaml", ROOT).pathname);
  expect(config).toMatchObject({
    sandbox: true,
    database: "embedded",
    kyc: { required: true },
    baseUrl: "http://127.0.0.1:8080",
  });
  expect(config.rateLimit.perMinute).toBeGreaterThanOrEqual(600);
  expect(new Set(markets.map(({ kind }) => kind))).toEqual(new Set(["cpmm", "lmsr"]));
  for (const { closeAt } of markets) expect(closeAt).toBeGreaterThanOrEqual(Date.UTC(2030, 0, 1));
});
