import { jsonSchemaOf } from "../config/schema/file-schemas.ts";

/** The JSON Schema (draft-07) of an operator's file, by default the tenant file, or the service's OpenAPI document. */
export async function schemaDocument(of: string | undefined): Promise<object> {
  // Loaded on demand, because the other documents do not need the server's modules.
  if (of === "openapi") return (await import("../server/openapi/openapi.ts")).openApiDocument();
  return jsonSchemaOf(of === "operator" || of === "market" || of === "fleet" || of === "case" ? of : "tenant");
}
