/** What a chart draws: plain data, for the drawing and for the table beside it. */
export interface Curve {
  name: string;
  /** By rising `x`: milliseconds since 1970, or a number. */
  points: readonly Point[];
  /** The token of its colour; the first curve is `--accent`. */
  color?: string;
  /** `steps`: a value holds until the next one. `dots`: events without a line between them. Otherwise a line. */
  shape?: "line" | "steps" | "dots" | "bars";
}

export type Point = readonly [x: number, y: number];

export interface Scale {
  /** Writes a value of the vertical axis. */
  y(value: number): string;
  /** Writes a value of the horizontal axis where it is no time. */
  x?(value: number): string;
  /** Writes a time in words and in the table; date and time unless given. */
  at?(ms: number): string;
  /** The vertical axis covers at least these values. */
  covers?: readonly [low: number, high: number];
}

/** A curve in a sentence: its last value, and the range of its values. */
export function summaryOf({ name, points }: Curve, { y }: Scale): string {
  const last = points.at(-1);
  if (!last) return `${name}: no values`;
  let [low, high] = [last[1], last[1]];
  for (const [, value] of points) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const range = low === high ? "" : `, between ${y(low)} and ${y(high)}`;
  return `${name}: ${points.length === 1 ? "" : "last "}${y(last[1])}${range}`;
}

/** Every x of the curves once, rising, each with its value of each curve; null where a curve has none. */
export function rowsOf(curves: readonly Curve[]): [x: number, ...ys: (number | null)[]][] {
  const rows = new Map<number, (number | null)[]>();
  for (const [index, { points }] of curves.entries())
    for (const [x, y] of points) {
      const row = rows.get(x) ?? curves.map(() => null);
      row[index] = y;
      rows.set(x, row);
    }
  return [...rows].toSorted(([a], [b]) => a - b).map(([x, ys]) => [x, ...ys]);
}
