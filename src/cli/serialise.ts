import { plain } from "./cells.ts";

type Row = Readonly<Record<string, unknown>>;

/** RFC 4180: a header of every field that occurs, then one line per row. Nested values stand as JSON. */
export function toCsv(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return "";
  const lines = rows.map((row) => names.map((name) => csvField(plain(row[name]))).join(","));
  return `${[names.map(csvField).join(","), ...lines].join("\r\n")}\r\n`;
}

function csvField(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One line of JSON per row. */
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
