import { displayWidth, oneLine, shorten } from "./text-width.ts";

/** One column of a table: what people see of a row. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => string;
  align?: "right";
  /** Never shortened, because people copy it. */
  whole?: true;
}

export interface TableStyle {
  /** Columns of the terminal; undefined when the table may be as wide as it likes. */
  width: number | undefined;
  /** How titles are set off. */
  title: (text: string) => string;
}

const GAP = "  ";
/** A column is not made narrower than this: less tells nothing. */
const NARROWEST = 8;

/** Rows under their titles, fitted to the terminal by shortening the widest columns. */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], style: TableStyle): string {
  const cells = rows.map((row) => columns.map(({ cell }) => oneLine(cell(row))));
  const titles = columns.map(({ title }) => title);
  const natural = columns.map((_, index) =>
    Math.max(...[titles, ...cells].map((line) => displayWidth(line[index] ?? ""))),
  );
  const widths = fit(natural, columns, style.width);
  const line = (texts: readonly string[], paint: (text: string) => string) =>
    texts
      .map((text, index) => pad(paint, shorten(text, widths[index] ?? 0), widths[index] ?? 0, columns[index]?.align))
      .join(GAP)
      .trimEnd();
  return [line(titles, style.title), ...cells.map((row) => line(row, (text) => text))].join("\n");
}

/** One value as lines of `name  value`; long values are left to the terminal to wrap. */
export function renderRecord(fields: readonly (readonly [string, string])[], style: TableStyle): string {
  const width = Math.max(0, ...fields.map(([name]) => displayWidth(name)));
  return fields.map(([name, value]) => `${pad(style.title, name, width)}${GAP}${oneLine(value)}`.trimEnd()).join("\n");
}

function fit<Row>(
  natural: readonly number[],
  columns: readonly Column<Row>[],
  available: number | undefined,
): number[] {
  const widths = [...natural];
  if (available === undefined) return widths;
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
  while (total() > available) {
    let widest = -1;
    widths.forEach((width, index) => {
      if (columns[index]?.whole || width <= NARROWEST) return;
      if (widest < 0 || width > (widths[widest] ?? 0)) widest = index;
    });
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** Painting comes last: escape sequences take no columns. */
function pad(paint: (text: string) => string, text: string, width: number, align?: "right"): string {
  const space = " ".repeat(Math.max(0, width - displayWidth(text)));
  return align === "right" ? `${space}${paint(text)}` : `${paint(text)}${space}`;
}
