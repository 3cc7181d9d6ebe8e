import { NumberText } from "../domain/json/exact-json.ts";

/**
 * A table in RFC 4180 form. Text that a spreadsheet would run as a formula gets an apostrophe before it: users,
 * providers and operators write the names, references and questions, and another person opens the file.
 */
export function csvOf(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  return lines.map((cells) => `${cells.map(cell).join(",")}\r\n`).join("");
}

/** The characters that begin a formula, full-width forms included, after any blanks that an import may strip. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;
/** Where a formula begins for a spreadsheet that splits at semicolons or tabs, to which a quote within a line means nothing. */
const INNER_FORMULA = /[;\t](?=[=+\-@＝＋－＠])/g;

function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return decimal(value);
  if (value instanceof NumberText) return value.text;
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const harmless = `${FORMULA.test(text) ? "'" : ""}${text.replace(INNER_FORMULA, "$&'")}`;
  return /[",;\t\r\n]|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Never with an exponent; amounts have at most six decimals. */
function decimal(value: number): string {
  const text = String(value);
  return text.includes("e") ? value.toFixed(6) : text;
}
