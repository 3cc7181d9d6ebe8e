/**
 * A table as RFC 4180 has it. Text that a spreadsheet would take for a formula is quoted with an apostrophe: a user
 * chooses its own name and a provider its reference, and somebody else opens the file.
 */
export function csvOf(columns: readonly string[], rows: readonly Record<string, unknown>[]): string {
  const lines = [columns.join(","), ...rows.map((row) => columns.map((column) => cell(row[column])).join(","))];
  return `${lines.join("\r\n")}\r\n`;
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return decimal(value);
  const text = typeof value === "string" ? value.replace(/^[=+\-@\t\r]/, "'$&") : JSON.stringify(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Never with an exponent; amounts have six decimals at the most. */
function decimal(value: number): string {
  const text = String(value);
  return text.includes("e") ? value.toFixed(6) : text;
}
