import { z } from "zod";
import { decode } from "../issues.ts";
import { CaseSchema } from "./case-schema.ts";
import { FleetFileSchema } from "./fleet-schema.ts";
import type { JsonSchema } from "./json-schema.ts";
import { MarketFileSchema } from "./market-schema.ts";
import { MessagesSchema } from "./messages-schema.ts";
import { OperatorFileSchema } from "./operator-schema.ts";
import { TenantFileSchema } from "./schema.ts";
import type { SchemaGuide } from "./schema-guide.ts";

/** The files that an operator writes. */
const SCHEMAS = {
  tenant: TenantFileSchema,
  market: MarketFileSchema,
  operator: OperatorFileSchema,
  fleet: FleetFileSchema,
  case: CaseSchema,
  messages: MessagesSchema,
};
export type FileKind = keyof typeof SCHEMAS;
/** The decoded value of each kind of file. */
export type FileData = { [Kind in FileKind]: z.output<(typeof SCHEMAS)[Kind]> };

const made = new Map<FileKind, JsonSchema>();

/**
 * The JSON Schema of a kind of file, made once. It is draft-07, because yaml-language-server reads nothing newer, and
 * it describes the file's written form, not the decoded one.
 */
export function jsonSchemaOf(kind: FileKind): JsonSchema {
  const schema =
    made.get(kind) ??
    (z.toJSONSchema(SCHEMAS[kind], {
      target: "draft-7",
      io: "input",
      // zod omits defaults and examples of decoded values, since they might belong to either form; here they belong to the file.
      override: ({ zodSchema, jsonSchema }) => {
        const examples = z.globalRegistry.get(zodSchema)?.examples as unknown[] | undefined;
        if (examples && jsonSchema.$ref === undefined) Object.assign(jsonSchema, { examples });
      },
    }) as JsonSchema);
  made.set(kind, schema);
  return schema;
}

/** A value decoded by the schema of its kind of file, or its mistakes. */
export function decodeAs(kind: FileKind, value: unknown, guide: SchemaGuide) {
  return decode<z.ZodType>(SCHEMAS[kind], value, { guide });
}

/** Schema files for editors: their contents by name. A line for each value shows a change; indents would be a third of the bytes. */
export function schemaFiles(...kinds: FileKind[]): Record<string, string> {
  const written = (kind: FileKind) => JSON.stringify(jsonSchemaOf(kind), null, 1).replaceAll(/^ +/gm, "");
  return Object.fromEntries(kinds.map((kind) => [`${kind}.schema.json`, `${written(kind)}\n`]));
}
