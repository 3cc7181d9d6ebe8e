/** Small text pictures of block characters that every monospaced font has. */

const LEVELS = "▁▂▃▄▅▆▇█";
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** The least span of the scale, so that a price that hardly moves is drawn as a flat line. */
const LEAST_SPAN = 0.1;

const BAR_WIDTH = 12;

/** One character per value, lowest to highest. @param values prices from 0 to 1, oldest first */
export function sparkline(values: readonly number[], width = values.length): string {
  if (values.length === 0) return "";
  const { low, high } = spanOf(values);
  return resample(values, width)
    .map((value) => LEVELS[levelOf(value, low, high, LEVELS.length)])
    .join("");
}

/** A bar as long as the value's share of `most`, to an eighth of a character. Anything above zero shows. */
export function bar(value: number, most: number, width = BAR_WIDTH): string {
  if (!(value > 0) || !(most > 0)) return "";
  const eighths = Math.max(1, Math.round((Math.min(value, most) / most) * width * 8));
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}

/** A column's cell that draws a row's value in proportion to the others. */
export function barOf<Row>(measure: (row: Row) => number): (row: Row, rows: readonly Row[]) => string {
  return (row, rows) => bar(measure(row), Math.max(...rows.map(measure)));
}

export interface BarLine {
  label: string;
  value: number;
  shown: string;
}

const LEAST_BAR = 8;
const LONGEST_BAR = 40;

/**
 * Draws amounts as bars below each other, each with its name on the left and its text on the right.
 * @param groups have a scale each, because dollars of volume would hide dollars of revenue
 * @param width columns for the whole picture
 * @returns nothing where there is no room; leaves out a group without any amount above zero
 */
export function barChart(groups: readonly (readonly BarLine[])[], width: number): string {
  const drawn = groups.filter((lines) => lines.some(({ value }) => value > 0));
  const widest = (part: "label" | "shown") => Math.max(0, ...drawn.flat().map((line) => line[part].length));
  const room = Math.min(width - widest("label") - widest("shown") - 3, LONGEST_BAR);
  if (room < LEAST_BAR) return "";
  return drawn
    .flatMap((lines) => {
      const most = Math.max(...lines.map(({ value }) => value));
      return lines.map(({ label, value, shown }) =>
        [label.padEnd(widest("label")), ` ${bar(value, most, room)}`, shown].join(" "),
      );
    })
    .join("\n");
}

const LABEL_WIDTH = 5;

/**
 * Draws prices over time as an area with its scale on the left.
 * @param width columns for the whole picture, scale included
 * @returns one text of `height` lines; empty where there is no room or nothing to draw
 */
export function areaChart(values: readonly number[], width: number, height = 8): string {
  const columns = Math.min(width - LABEL_WIDTH - 2, Math.max(values.length, 24));
  if (values.length < 2 || columns < 8) return "";
  const { low, high } = spanOf(values);
  const steps = resample(values, columns).map((value) => levelOf(value, low, high, height * 8) + 1);
  return Array.from({ length: height }, (_, index) => {
    const row = height - 1 - index;
    const label = row === height - 1 ? high : row === 0 ? low : undefined;
    const cells = steps.map((step) => {
      const filled = Math.min(Math.max(step - row * 8, 0), 8);
      return filled === 0 ? " " : LEVELS[filled - 1];
    });
    return `${label === undefined ? " ".repeat(LABEL_WIDTH) : label.toFixed(3)} ${label === undefined ? "│" : "┤"}${cells.join("")}`.trimEnd();
  }).join("\n");
}

/** The scale: the range of the values, widened where it would be too narrow to mean anything. */
function spanOf(values: readonly number[]): { low: number; high: number } {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (high - low >= LEAST_SPAN) return { low, high };
  const start = Math.min(Math.max((low + high - LEAST_SPAN) / 2, 0), 1 - LEAST_SPAN);
  return { low: start, high: start + LEAST_SPAN };
}

function levelOf(value: number, low: number, high: number, levels: number): number {
  return Math.round(((value - low) / (high - low)) * (levels - 1));
}

/** The values in force at `width` evenly spaced instants; the last value is the latest. */
function resample(values: readonly number[], width: number): number[] {
  if (width === 1) return values.slice(-1);
  return Array.from(
    { length: width },
    (_, index) => values[Math.round((index * (values.length - 1)) / (width - 1))] ?? 0,
  );
}
