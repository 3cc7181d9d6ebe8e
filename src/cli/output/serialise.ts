import { csvOf } from "../../contract/csv.ts";
import { NumberText } from "../../domain/json/exact-json.ts";
import { ANNOTATION_FORMATS } from "./annotations.ts";

export const FORMATS = ["table", "json", "yaml", "csv", "tsv", "ndjson", "markdown", ...ANNOTATION_FORMATS] as const;
export type Format = (typeof FORMATS)[number];

export function isFormat(text: string): text is Format {
  return FORMATS.some((format) => format === text);
}

type Row = Readonly<Record<string, unknown>>;

/** A header of all fields that occur, then one line per row. Nested values are written as JSON. */
export function toCsv(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return names.length === 0 ? "" : csvOf(names, rows);
}

/** For `grep`, `cut` and `sort`: a header, then a line per row with tabs; spaces replace inner tabs and line breaks. */
export function toTsv(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const line = (texts: readonly string[]) => `${texts.map((text) => text.replace(/[\t\r\n]+/g, " ")).join("\t")}\n`;
  const textOf = (value: unknown) =>
    typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
  return names.length === 0
    ? ""
    : [names, ...rows.map((row) => names.map((name) => textOf(row[name])))].map(line).join("");
}

export function toNdjson(rows: readonly Row[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** YAML that old readers understand too: `NO` and times are quoted. */
export async function toYaml(value: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(value, {
    compat: "yaml-1.1",
    lineWidth: 0,
    aliasDuplicateObjects: false,
    customTags: [
      {
        tag: "tag:yaml.org,2002:float",
        default: true,
        identify: (each) => each instanceof NumberText,
        resolve: Number,
        stringify: (scalar) => String(scalar.value),
      },
    ],
  });
}

/** The value at a dotted path, such as `position.shares`. */
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

/** The named fields of each row; null where a row lacks one. */
export function pickFields(rows: readonly Row[], fields: readonly string[]): Row[] {
  return rows.map((row) => Object.fromEntries(fields.map((field) => [field, fieldOf(row, field) ?? null])));
}
