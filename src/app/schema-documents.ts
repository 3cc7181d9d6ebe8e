import { jsonSchemaOf } from "../config/schema/json-schema.ts";

/**
 * A document for editors and other programs: the JSON Schema (draft-07) of a file that an operator writes, `tenant`
 * unless it is another's, or the OpenAPI document of the HTTP service.
 */
export async function schemaDocument(of: string | undefined): Promise<object> {
  // Loaded here: the other documents need nothing of the server.
  if (of === "openapi") return (await import("../server/openapi/openapi.ts")).openApiDocument();
  return jsonSchemaOf(of === "operator" || of === "market" ? of : "tenant");
}
