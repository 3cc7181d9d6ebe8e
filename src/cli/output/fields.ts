import { z } from "zod";
import { TenantFileSchema } from "../../config/schema/schema.ts";
import { type OperationId, operations } from "../../contract/operations.ts";

/** What a command prints. Each command declares it where it is added, and `--fields ?` lists the names. */
export type Prints =
  /** An operation's answer, or the list inside it. */
  | { operation: OperationId; rows?: string }
  /** The content of a tenant file, and further names with spaces between. */
  | { tenantFile: true; and?: string }
  /** Names of the command's own, with spaces between. */
  | { names: string };

export function fieldsOf(prints: Prints): string[] {
  if ("names" in prints) return prints.names.split(" ");
  if ("tenantFile" in prints) return [...namesIn(TenantFileSchema), ...(prints.and?.split(" ") ?? [])];
  const { output } = operations[prints.operation];
  return namesIn(prints.rows === undefined ? output : (output as z.ZodObject).shape[prints.rows]);
}

function namesIn(schema: unknown, prefix = ""): string[] {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodArray) return prefix === "" ? namesIn(inner.element) : [];
  if (inner instanceof z.ZodUnion) return [...new Set(inner.options.flatMap((option) => namesIn(option, prefix)))];
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape).flatMap(([name, part]) => [
    `${prefix}${name}`,
    ...namesIn(part, `${prefix}${name}.`),
  ]);
}

function unwrapped(schema: unknown): unknown {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    return unwrapped(schema.unwrap());
  return schema;
}
