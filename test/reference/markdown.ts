/** Text as a cell of a Markdown table holds it. */
export const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ").replaceAll("<", "&lt;");

export const code = (text: string): string => (text === "" ? "" : `\`${text.replaceAll("|", "\\|")}\``);

export const row = (...cells: string[]): string => `| ${cells.join(" | ")} |`;

export const table = (titles: string[], rows: readonly string[]): string =>
  [row(...titles), row(...titles.map(() => "---")), ...rows].join("\n");

/** A table without the columns in which no row says anything. */
export function filledTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const filled = titles.flatMap((_, column) => (rows.some((cells) => cells[column] !== "") ? [column] : []));
  const pick = (cells: readonly string[]) => filled.map((column) => cells[column] ?? "");
  return table(
    pick(titles),
    rows.map((cells) => row(...pick(cells))),
  );
}

export const NOTE = "This page is made from the code: `npm run docs:reference` writes it, and a test compares it.";

/** The text with a capital at its beginning. */
export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
