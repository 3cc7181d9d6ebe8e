import { z } from "zod";
import type { Prints } from "../../src/cli/output/prints.ts";
import type { JsonSchema } from "../../src/config/schema/json-schema.ts";
import { type FileKey, keysOfSchema } from "../../src/config/schema/schema-keys.ts";
import { operations } from "../../src/contract/operations.ts";
import { cell, code, filledTable, row, table } from "./markdown.ts";
import { meaningOf } from "./own-fields.ts";

/** A field of data that leaves the program. */
type Field = Pick<FileKey, "path" | "type" | "description" | "required">;

/** Every field of what a schema describes, as it travels; of a list those of its items. */
export function fieldsOfSchema(schema: z.ZodType): Field[] {
  const described = z.toJSONSchema(schema, { target: "draft-7", io: "input" }) as JsonSchema;
  const all = (key: FileKey): FileKey[] => [key, ...key.keys.flatMap(all)];
  return keysOfSchema(described, "")
    .keys.flatMap(all)
    .map((field) => ({ ...field, path: field.path.replace(/^\[\]\.?/, "") }));
}

export function fieldTable(fields: readonly Field[]): string {
  return filledTable(
    ["field", "type", "what it is"],
    fields.map(({ path, type, required, description }) => [
      code(path),
      cell(`${type}${required ? "" : ", optional"}`),
      cell(description),
    ]),
  );
}

/** What a command prints, as `-o json` shows it. */
export function printedFields(path: string, prints: Prints): string {
  if ("names" in prints) {
    const named = prints.names.split(" ").map((name) => row(code(name), cell(meaningOf(path, name))));
    return table(["field", "what it is"], named);
  }
  if ("tenantFile" in prints) {
    const further = (prints.and ?? "").split(" ").map((name) => code(name));
    return `It prints the keys of the [tenant file](tenant.md), and ${further.join(", ")}.`;
  }
  const { output } = operations[prints.operation];
  const fields = fieldsOfSchema(prints.rows === undefined ? output : partOf(output, prints.rows));
  return fieldTable(fields);
}

function partOf(schema: z.ZodType, name: string): z.ZodType {
  const part = schema instanceof z.ZodObject ? schema.shape[name] : undefined;
  if (part instanceof z.ZodType) return part;
  throw new Error(`There is no ${name} in this schema`);
}
