import { wallClockMs } from "../../domain/time/clock.ts";
import { orDash, plain, relative, time } from "./cells.ts";
import { displayWidth, sanitizeLine, shorten, wrap, wrapTo } from "./text-width.ts";

/** The style of a cell on a terminal with colours. */
export type Paint = "green" | "yellow" | "red" | "cyan" | "dim";

/** One column of a table for people. */
export interface Column<Row> {
  title: string;
  cell: (row: Row, rows: readonly Row[]) => string;
  /** Replaces `cell` on a page that is read later. */
  lasting?: (row: Row) => string;
  align?: "right";
  paint?: (row: Row) => Paint | undefined;
  /** Never shortened, because people copy the text. */
  whole?: true;
  /** Continues on lines below where it is too narrow, because the end of a sentence matters as much as its beginning. */
  wraps?: true;
  /** The column's least width. */
  least?: number;
  /** The width below which optional columns are left out first. */
  wanted?: number;
  /** Left out where there is no room: columns without content first, then from the last. */
  optional?: true;
  /** Tells rows apart: other columns are narrowed to the minimum before this optional one is left out. */
  telling?: true;
  /** Names the owner of a row: never left out where rows differ in it. */
  identifies?: true;
  /** Draws a picture: optional, and on terminals only. */
  picture?: true;
}

/**
 * A field of a record; left out if it has no text. `below` are lines under the text that are never broken, such as
 * commands to copy.
 */
export type Field = readonly [name: string, text: string | undefined, below?: readonly string[]];

/** A field with a text. */
export type ToldField = readonly [name: string, text: string, below?: readonly string[]];

export function toldFields(fields: readonly Field[]): ToldField[] {
  return fields.filter((field): field is ToldField => field[1] !== undefined);
}

export interface TableStyle {
  /** Columns of the terminal; undefined for a table of any width. */
  width: number | undefined;
  /** The style of titles. */
  title: (text: string) => string;
  /** The style of cells; returns the text itself where there are no colours. */
  paint: (text: string, paint: Paint) => string;
}

/** A column for each field of `--fields`. */
export function fieldColumns(fields: readonly string[]): Column<Readonly<Record<string, unknown>>>[] {
  return fields.map((field) => ({ title: field, cell: (row) => plain(row[field]) }));
}

/** An instant: its distance from now, or its time on a page that is read later. */
export function instantColumn<Row>(
  title: string,
  at: (row: Row) => string | null | undefined,
  { now, ...more }: { now?: number; whole?: true; optional?: true } = {},
): Column<Row> {
  return {
    title,
    cell: (row) => orDash(mapped(at(row), (instant) => relative(instant, now ?? wallClockMs()))),
    lasting: (row) => orDash(mapped(at(row), time)),
    ...more,
  };
}

function mapped(instant: string | null | undefined, text: (instant: string) => string): string | null {
  return instant ? text(instant) : null;
}

const GAP = "  ";
const LEAST = 8;
/** In less room, a sentence becomes a column of single words. */
const LEAST_WRAPPED = 30;

/** A column with its texts and its width. */
interface Strip {
  texts: string[];
  paints: (Paint | undefined)[];
  width: number;
  least: number;
  wanted: number;
  align: "right" | undefined;
  wraps: boolean;
  optional: boolean;
  telling: boolean;
  /** Whether no row has a text in it. */
  empty: boolean;
}

/** Rows under their titles, fitted to the terminal: leaves out optional columns, then narrows the widest ones. */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], style: TableStyle): string {
  const shown = columns.filter(({ picture }) => !picture || style.width !== undefined);
  const strips = fit(
    shown.map((column) => toStrip(rows, column)),
    style.width,
  );
  if (style.width !== undefined && totalOf(strips, ({ width }) => width) > style.width)
    return renderCards(rows, shown, style);
  return [0, ...rows.map((_, index) => index + 1)].flatMap((index) => linesOf(strips, index, style)).join("\n");
}

/** The lines of one row: more than one where a column wraps. */
function linesOf(strips: readonly Strip[], index: number, style: TableStyle): string[] {
  const cells = strips.map(({ texts, width, wraps }) => {
    const text = texts[index] ?? "";
    return wraps ? wrapTo(text, width) : [shorten(text, width)];
  });
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, at) =>
    strips
      .map(({ paints, width, align }, column) => {
        const paint = paints[index];
        const painted = (text: string) => (index === 0 ? style.title(text) : paint ? style.paint(text, paint) : text);
        return pad(painted, cells[column]?.[at] ?? "", width, align);
      })
      .join(GAP)
      .trimEnd(),
  );
}

function toStrip<Row>(rows: readonly Row[], column: Column<Row>): Strip {
  const {
    title,
    cell,
    align,
    paint,
    whole,
    wraps = false,
    least,
    wanted = 0,
    optional = false,
    telling = false,
    identifies = false,
    picture = false,
  } = column;
  const texts = [title, ...rows.map((row) => sanitizeLine(cell(row, rows)))];
  const width = texts.reduce((widest, text) => Math.max(widest, displayWidth(text)), 0);
  // Half a number or half a picture would say something else than the whole.
  const isWhole = whole || picture || align === "right";
  const narrowest = isWhole ? width : Math.min(width, least ?? (wraps ? LEAST_WRAPPED : LEAST));
  const paints = [undefined, ...rows.map((row) => paint?.(row))];
  const empty = texts.slice(1).every((text) => text === "-" || text === "");
  return {
    texts,
    paints,
    width,
    least: narrowest,
    wanted: Math.max(narrowest, Math.min(width, wanted)),
    align,
    wraps,
    optional: (optional && !(identifies && new Set(texts.slice(1)).size > 1)) || picture,
    telling,
    empty,
  };
}

/** Prints each row as a record where even the narrowest table does not fit. Leaves out pictures only. */
function renderCards<Row>(rows: readonly Row[], columns: readonly Column<Row>[], style: TableStyle): string {
  const told = columns.filter(({ picture }) => !picture);
  return rows
    .map((row) =>
      renderRecord(
        told.map(({ title, cell }) => [title.toLowerCase(), cell(row, rows)] as const),
        style,
      ),
    )
    .join("\n\n");
}

/**
 * One value as lines of `name  value`. Long values continue under their beginning. A word is never broken, because
 * people copy it: one that does not fit beside the name is printed below it.
 */
export function renderRecord(fields: readonly ToldField[], style: TableStyle): string {
  const width = Math.max(0, ...fields.map(([name]) => displayWidth(name)));
  const room = style.width === undefined ? Number.POSITIVE_INFINITY : style.width - width - GAP.length;
  const indent = `\n${" ".repeat(width + GAP.length)}`;
  return fields
    .map(([name, value, below = []]) => {
      const kept = below.map(sanitizeLine);
      const fits = (line: string) => displayWidth(line) <= room;
      if (value === "" && kept.length > 0 && kept.every(fits))
        return pad(style.title, name, width) + GAP + kept.join(indent);
      const lines = wrap(sanitizeLine(value), room);
      const keptUnder = kept.map((line) => (kept.every(fits) ? indent : `\n${GAP}`) + line).join("");
      if (lines.every(fits)) return `${pad(style.title, name, width)}${GAP}${lines.join(indent)}`.trimEnd() + keptUnder;
      return [style.title(name), ...wrap(sanitizeLine(value), room + width)].join(`\n${GAP}`) + keptUnder;
    })
    .join("\n");
}

function fit(strips: readonly Strip[], available: number | undefined): Strip[] {
  if (available === undefined) return [...strips];
  const isTight = totalOf(strips, ({ width }) => width) > available;
  let kept = strips.filter(({ optional, empty }) => !(isTight && optional && empty));
  const drop = (room: (strip: Strip) => number, isDispensable: (strip: Strip) => boolean) => {
    while (totalOf(kept, room) > available) {
      const dispensable = kept.findLast(isDispensable);
      if (!dispensable) break;
      kept = kept.filter((strip) => strip !== dispensable);
    }
  };
  drop(
    ({ wanted }) => wanted,
    ({ optional, telling }) => optional && !telling,
  );
  drop(
    ({ least }) => least,
    ({ optional }) => optional,
  );
  const fitted = kept.map((strip) => ({ ...strip }));
  while (totalOf(fitted, ({ width }) => width) > available) {
    const [widest] = fitted.filter(({ width, least }) => width > least).toSorted((a, b) => b.width - a.width);
    if (!widest) break;
    widest.width -= 1;
  }
  return fitted;
}

function totalOf(strips: readonly Strip[], widthOf: (strip: Strip) => number): number {
  return strips.reduce((total, strip) => total + widthOf(strip), GAP.length * (strips.length - 1));
}

/** Paints after padding: escape sequences take no columns. */
function pad(paint: (text: string) => string, text: string, width: number, align?: "right"): string {
  const space = " ".repeat(Math.max(0, width - displayWidth(text)));
  return align === "right" ? `${space}${paint(text)}` : `${paint(text)}${space}`;
}
