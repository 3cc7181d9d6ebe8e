import type { Column } from "./table.ts";

/** Rows as a Markdown table, with nothing left out; pictures have no place in it. */
export function markdownTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const shown = columns.filter(({ picture }) => !picture);
  const lineOf = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    lineOf(shown.map(({ title }) => markdownCell(title))),
    lineOf(shown.map(({ align }) => (align === "right" ? "---:" : "---"))),
    ...rows.map((row) => lineOf(shown.map(({ cell, lasting }) => markdownCell(lasting?.(row) ?? cell(row, rows))))),
  ].join("\n");
}

/** Escapes what would begin a new column, a new line or HTML. */
export function markdownCell(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
