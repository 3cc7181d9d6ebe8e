/**
 * A table as RFC 4180 has it. Text that a spreadsheet would take for a formula is quoted with an apostrophe: a user
 * chooses its own name, a provider its reference and an operator a question, and another person opens the file.
 */
export function csvOf(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  return lines.map((cells) => `${cells.map(cell).join(",")}\r\n`).join("");
}

/** What begins a formula, full-width forms included, behind any blanks that an import may cut off. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;

function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return decimal(value);
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Never with an exponent; amounts have six decimals at the most. */
function decimal(value: number): string {
  const text = String(value);
  return text.includes("e") ? value.toFixed(6) : text;
}
