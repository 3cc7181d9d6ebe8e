import { csvOf } from "../../contract/csv.ts";
import { Fault } from "../../domain/fault.ts";

type Row = Readonly<Record<string, unknown>>;

/** A header of every field that occurs, then one line per row. Nested values stand as JSON. */
export function toCsv(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return names.length === 0 ? "" : csvOf(names, rows);
}

export function toNdjson(rows: readonly Row[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** YAML that old readers take as it is meant: `NO` and times are quoted. */
export async function toYaml(value: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(value, { compat: "yaml-1.1", lineWidth: 0, aliasDuplicateObjects: false });
}

/** The fields of a dotted path, such as `position.shares`. */
export function fieldOf(row: Row, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (value, step) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, step)
          ? (value as Record<string, unknown>)[step]
          : undefined,
      row,
    );
}

/** @throws Fault USAGE when no row has one of the fields */
export function pickFields(rows: readonly Row[], fields: readonly string[]): Row[] {
  const missing = fields.find((field) => rows.length > 0 && rows.every((row) => fieldOf(row, field) === undefined));
  if (missing !== undefined) {
    const known = [...new Set(rows.flatMap((row) => Object.keys(row)))].join(", ");
    throw new Fault("USAGE", `There is no field ${missing}; there are: ${known}`);
  }
  return rows.map((row) => Object.fromEntries(fields.map((field) => [field, fieldOf(row, field)])));
}
