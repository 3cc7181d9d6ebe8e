import { z } from "zod";
import { TenantFileSchema } from "../../config/schema/schema.ts";
import { operations } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { isRead, type Prints } from "./prints.ts";

/** @param each options of a line that runs once for each of several tenants: its items name their tenant */
export function fieldsOf(prints: Prints, each?: object): string[] {
  const own = "names" in prints ? prints.names.split(" ") : [...namesIn(schemaOf(prints)), ...furtherNames(prints)];
  return isTold(prints, each) && !own.includes("tenant") ? ["tenant", ...own] : own;
}

function isTold(prints: Prints, each: object | undefined): boolean {
  return each !== undefined && isRead(prints, each);
}

/**
 * Refuses a wrong `--fields` before the command does anything. Afterwards a script would repeat the command, and so the
 * change.
 *
 * @param each as in {@link fieldsOf}
 * @throws Fault USAGE naming the first field that the command never prints, and the fields that it prints
 */
export function requireFields(prints: Prints, fields: readonly string[], each?: object): void {
  const isAdded = (field: string) => field === "tenant" && isTold(prints, each);
  const wrong = fields.find((field) => !isAdded(field) && !mayPrint(prints, field.split(".")));
  if (wrong === undefined) return;
  throw new Fault("USAGE", `There is no field ${wrong}; the fields are: ${fieldsOf(prints, each).join(", ")}`);
}

/** Where a command declares a field by name alone, the field's inner fields are unknown until it is printed. */
function mayPrint(prints: Prints, path: readonly string[]): boolean {
  const [first = ""] = path;
  if ("names" in prints) return prints.names.split(" ").includes(first);
  return furtherNames(prints).includes(first) || leadsInto(elementOf(schemaOf(prints)), path);
}

function schemaOf(prints: Exclude<Prints, { names: string }>): unknown {
  if ("tenantFile" in prints) return TenantFileSchema;
  const { output } = operations[prints.operation];
  return prints.rows === undefined ? output : (output as z.ZodObject).shape[prints.rows];
}

function furtherNames(prints: Prints): string[] {
  return "tenantFile" in prints ? (prints.and?.split(" ") ?? []) : [];
}

function elementOf(schema: unknown): unknown {
  const inner = unwrapped(schema);
  return inner instanceof z.ZodArray ? inner.element : inner;
}

/** Whether a value of the schema can have something at the path. */
function leadsInto(schema: unknown, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined) return true;
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodUnion) return inner.options.some((option) => leadsInto(option, [step, ...rest]));
  if (inner instanceof z.ZodObject) return Object.hasOwn(inner.shape, step) && leadsInto(inner.shape[step], rest);
  if (inner instanceof z.ZodArray) return /^\d+$/.test(step) && leadsInto(inner.element, rest);
  if (inner instanceof z.ZodRecord) return leadsInto(inner.valueType, rest);
  return inner instanceof z.ZodLazy || inner instanceof z.ZodUnknown;
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
