import { z } from "zod";
import { CaseSchema } from "./case-schema.ts";
import { FleetFileSchema } from "./fleet-schema.ts";
import { MarketFileSchema } from "./market-schema.ts";
import { MessagesSchema } from "./messages-schema.ts";
import { OperatorFileSchema } from "./operator-schema.ts";
import { TenantFileSchema } from "./schema.ts";
import { type JsonSchema, SchemaGuide } from "./schema-guide.ts";

/** The files that an operator writes. */
const SCHEMAS = {
  tenant: TenantFileSchema,
  market: MarketFileSchema,
  operator: OperatorFileSchema,
  fleet: FleetFileSchema,
  case: CaseSchema,
  messages: MessagesSchema,
};
type FileKind = keyof typeof SCHEMAS;

const made = new Map<FileKind, JsonSchema>();

/**
 * JSON Schema of a kind of file, made once: draft-07, because yaml-language-server reads nothing newer, and of the file
 * as it is written, not as it is decoded.
 */
export function jsonSchemaOf(kind: FileKind): JsonSchema {
  const schema = made.get(kind) ?? (z.toJSONSchema(SCHEMAS[kind], { target: "draft-7", io: "input" }) as JsonSchema);
  made.set(kind, schema);
  return schema;
}

/** What error messages may show and suggest in a kind of file. */
export function guideTo(kind: FileKind): SchemaGuide {
  return new SchemaGuide(() => jsonSchemaOf(kind));
}

/** Schema files for editors, by name, with their content. */
export function schemaFiles(...kinds: FileKind[]): Record<string, string> {
  return Object.fromEntries(
    kinds.map((kind) => [`${kind}.schema.json`, `${JSON.stringify(jsonSchemaOf(kind), null, 2)}\n`]),
  );
}
