import { z } from "zod";
import { MarketFileSchema } from "./market-schema.ts";
import { OperatorFileSchema } from "./operator-schema.ts";
import { TenantFileSchema } from "./schema.ts";
import type { JsonSchema } from "./schema-guide.ts";

/** Draft-07, because yaml-language-server reads nothing newer, and of the file as it is written, not as it is decoded. */
function toJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { target: "draft-7", io: "input" }) as JsonSchema;
}

let tenant: JsonSchema | undefined;
let market: JsonSchema | undefined;
let operator: JsonSchema | undefined;

/** JSON Schema of `tenant.yaml`, made once. */
export function tenantJsonSchema(): JsonSchema {
  tenant ??= toJsonSchema(TenantFileSchema);
  return tenant;
}

/** JSON Schema of a market file, made once. */
export function marketJsonSchema(): JsonSchema {
  market ??= toJsonSchema(MarketFileSchema);
  return market;
}

/** JSON Schema of `pmctl.yaml`, made once. */
export function operatorJsonSchema(): JsonSchema {
  operator ??= toJsonSchema(OperatorFileSchema);
  return operator;
}

/** The files that the build keeps in `templates/`, by name, with their content. */
export function schemaFiles(): Record<string, string> {
  return { ...tenantSchemaFiles(), "operator.schema.json": `${JSON.stringify(operatorJsonSchema(), null, 2)}\n` };
}

/** Those that `init` puts beside the tenants. */
export function tenantSchemaFiles(): Record<string, string> {
  return {
    "tenant.schema.json": `${JSON.stringify(tenantJsonSchema(), null, 2)}\n`,
    "market.schema.json": `${JSON.stringify(marketJsonSchema(), null, 2)}\n`,
  };
}
