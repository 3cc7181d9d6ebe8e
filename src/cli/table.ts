import { displayWidth, oneLine, shorten } from "./text-width.ts";

/** One column of a table: what people see of a row. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => string;
  align?: "right";
  /** Never shortened, because people copy it. */
  whole?: true;
  /** Not made narrower than this many columns: less tells nothing. */
  least?: number;
  /** Left out where there is no room for it; the last such column goes first. */
  optional?: true;
}

export interface TableStyle {
  /** Columns of the terminal; undefined when the table may be as wide as it likes. */
  width: number | undefined;
  /** How titles are set off. */
  title: (text: string) => string;
}

const GAP = "  ";
const LEAST = 8;

/** A column with its texts, and how wide it is to be. */
interface Strip {
  texts: string[];
  width: number;
  least: number;
  align: "right" | undefined;
  optional: boolean;
}

/** Rows under their titles, fitted to the terminal: optional columns go, then the widest ones are shortened. */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], style: TableStyle): string {
  const strips = fit(
    columns.map((column) => toStrip(rows, column)),
    style.width,
  );
  const line = (index: number, paint: (text: string) => string) =>
    strips
      .map(({ texts, width, align }) => pad(paint, shorten(texts[index] ?? "", width), width, align))
      .join(GAP)
      .trimEnd();
  return [line(0, style.title), ...rows.map((_, index) => line(index + 1, (text) => text))].join("\n");
}

function toStrip<Row>(rows: readonly Row[], { title, cell, align, whole, least, optional }: Column<Row>): Strip {
  const texts = [title, ...rows.map((row) => oneLine(cell(row)))];
  const width = texts.reduce((widest, text) => Math.max(widest, displayWidth(text)), 0);
  return { texts, width, least: whole ? width : Math.min(width, least ?? LEAST), align, optional: optional ?? false };
}

/**
 * One value as lines of `name  value`. Sentences go on below their beginning; words that are too long, such as tokens, are
 * left to the terminal to wrap, so that they can be copied.
 */
export function renderRecord(fields: readonly (readonly [string, string])[], style: TableStyle): string {
  const width = Math.max(0, ...fields.map(([name]) => displayWidth(name)));
  const room = style.width === undefined ? Number.POSITIVE_INFINITY : style.width - width - GAP.length;
  const indent = `\n${" ".repeat(width)}${GAP}`;
  return fields
    .map(([name, value]) =>
      `${pad(style.title, name, width)}${GAP}${wrap(oneLine(value), room).join(indent)}`.trimEnd(),
    )
    .join("\n");
}

/** Lines of at most `room` columns, broken at single spaces; only a word that is longer makes a longer line. */
export function wrap(text: string, room: number): string[] {
  if (displayWidth(text) <= room) return [text];
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && displayWidth(`${last} ${word}`) <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function fit(strips: readonly Strip[], available: number | undefined): Strip[] {
  if (available === undefined) return [...strips];
  const gaps = (kept: readonly Strip[]) => GAP.length * (kept.length - 1);
  const sum = (kept: readonly Strip[], of: (strip: Strip) => number) =>
    kept.reduce((total, strip) => total + of(strip), gaps(kept));
  let kept = [...strips];
  while (sum(kept, ({ least }) => least) > available) {
    const dispensable = kept.findLast(({ optional }) => optional);
    if (!dispensable) break;
    kept = kept.filter((strip) => strip !== dispensable);
  }
  const fitted = kept.map((strip) => ({ ...strip }));
  while (sum(fitted, ({ width }) => width) > available) {
    const [widest] = fitted.filter(({ width, least }) => width > least).toSorted((a, b) => b.width - a.width);
    if (!widest) break;
    widest.width -= 1;
  }
  return fitted;
}

/** Painting comes last: escape sequences take no columns. */
function pad(paint: (text: string) => string, text: string, width: number, align?: "right"): string {
  const space = " ".repeat(Math.max(0, width - displayWidth(text)));
  return align === "right" ? `${space}${paint(text)}` : `${paint(text)}${space}`;
}
