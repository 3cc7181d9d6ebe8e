import type { Column, ToldField } from "./table.ts";

/** A record as a Markdown table of its fields. */
export function markdownRecord(fields: readonly ToldField[]): string {
  const linesOf = ([, text, below = []]: ToldField) => [
    ...(text === "" ? [] : [markdownCell(text)]),
    ...below.map(markdownCode),
  ];
  return ["| Field | Value |", "| --- | --- |"]
    .concat(fields.map((field) => `| ${markdownCell(field[0])} | ${linesOf(field).join("<br>")} |`))
    .join("\n");
}

/** Rows as a Markdown table with all columns but the pictures. */
export function markdownTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const shown = columns.filter(({ picture }) => !picture);
  const lineOf = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    lineOf(shown.map(({ title }) => markdownCell(title))),
    lineOf(shown.map(({ align }) => (align === "right" ? "---:" : "---"))),
    ...rows.map((row) => lineOf(shown.map(({ cell, lasting }) => markdownCell(lasting?.(row) ?? cell(row, rows))))),
  ].join("\n");
}

/**
 * Escapes a text so that Markdown shows it literally: it starts no column, line, HTML, link, picture or emphasis. Pull
 * requests look for people and issues in the rendered text, without backslashes: an invisible space breaks those.
 */
export function markdownCell(text: string): string {
  return text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/&(?=[#a-z])/gi, "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(/[\\`*~[\]|]|#|(?<![a-z0-9])_|_(?![a-z0-9])/gi, "\\$&")
    .replaceAll(/(?<!\w)@(?=\w)|[#!](?=\d)/g, "$&&#8203;");
}

/** Text between backticks, where only the end of the column and the backtick itself are markup. */
export function markdownCode(text: string): string {
  const held = text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("`", "'");
  return `\`${held}\``;
}
