import type uPlot from "uplot";
import { axisTime } from "../format.ts";
import { type Curve, rowsOf, type Scale } from "./curve.ts";

type Library = typeof uPlot;

/** The file beside this script that has the library; the build writes its name. */
declare const PLOT_PART: string;

/** A change of one of these changes the values of the tokens. */
const COLOUR_MEDIA = ["(prefers-color-scheme: dark)", "(forced-colors: active)", "print"];
const DASHES = [[], [6, 4], [2, 3], [10, 3, 2, 3]];

/** A drawing in an element; `draw` replaces its curves one for one. */
export interface Plot {
  draw(curves: readonly Curve[]): void;
  end(): void;
}

let library: Promise<Library> | undefined;

/** Loads the library once; after a failure the next chart tries again. */
export function loadLibrary(): Promise<Library> {
  library ??= importLibrary().catch((error: unknown) => {
    library = undefined;
    throw error;
  });
  return library;
}

async function importLibrary(): Promise<Library> {
  const part = (await import(new URL(PLOT_PART, import.meta.url).href)) as { uPlot: Library };
  return part.uPlot;
}

/** @param onCursor receives the index of the row under the cursor, and undefined without one */
export function drawPlot(
  Library: Library,
  element: HTMLElement,
  curves: readonly Curve[],
  scale: Scale,
  onCursor: (index: number | undefined) => void,
): Plot {
  const plot = new Library(optionsFor(Library, element, curves, scale, onCursor), dataOf(curves, scale), element);
  const observer = new ResizeObserver(() => plot.setSize(sizeOf(element)));
  observer.observe(element);
  const repaint = (): void => plot.redraw(false);
  const media = COLOUR_MEDIA.map((query) => matchMedia(query));
  for (const each of media) each.addEventListener("change", repaint);
  return {
    draw: (next) => plot.setData(dataOf(next, scale)),
    end() {
      for (const each of media) each.removeEventListener("change", repaint);
      observer.disconnect();
      plot.destroy();
    },
  };
}

/** Columns instead of rows; the library counts seconds. */
function dataOf(curves: readonly Curve[], { x }: Scale): uPlot.AlignedData {
  const rows = rowsOf(curves);
  const divisor = x ? 1 : 1000;
  const ys = curves.map((_curve, index) => rows.map((row) => row[index + 1] ?? null));
  return [rows.map(([at]) => at / divisor), ...ys];
}

/** The style sets the height. */
function sizeOf({ clientWidth, clientHeight }: HTMLElement): { width: number; height: number } {
  return { width: clientWidth, height: clientHeight };
}

function optionsFor(
  Library: Library,
  element: HTMLElement,
  curves: readonly Curve[],
  scale: Scale,
  onCursor: (index: number | undefined) => void,
): uPlot.Options {
  const token = (name: string) => () => getComputedStyle(element).getPropertyValue(name).trim();
  // Type is larger on a very wide screen.
  const unit = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const axis = { stroke: token("--muted"), font: `${12 * unit}px ${token("--font")()}`, ticks: { show: false } };
  return {
    ...sizeOf(element),
    // Half of a label is to the right of the last tick.
    padding: [8, (scale.x ? 36 : 16) * unit, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false }, points: { size: 8 } },
    scales: {
      x: scale.x ? { time: false } : { range: scale.at ? besideDays : timeRange },
      y: { range: (_plot, low, high) => rangeOf(Library, low, high, scale) },
    },
    series: [{}, ...curves.map((curve, index) => seriesOf(Library, curve, index, token))],
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28 * unit,
        space: 80 * unit,
        ...(scale.x ? valuesBy(scale.x) : scale.at ? DAYS : TIMES),
      },
      {
        ...axis,
        grid: { stroke: token("--border"), width: 1 },
        ...valuesBy(scale.y),
        size: (_plot, texts) => (16 + 7.5 * Math.max(3, ...(texts ?? []).map((text) => text.length))) * unit,
      },
    ],
    hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)] },
  };
}

const WHOLE_DAYS = [1, 2, 5, 10, 15, 30, 60, 90, 180, 365].map((count) => count * 86_400);
const DAYS: Pick<uPlot.Axis, "values" | "incrs"> = {
  incrs: WHOLE_DAYS,
  values: (_plot, ticks, _axis, _space, stepSec) => ticks.map((tick) => axisTime(tick * 1000, stepSec * 1000)),
};
const TIMES = {
  ...DAYS,
  incrs: [
    ...[1, 2, 5, 10, 15, 30].map((count) => count * 60),
    ...[1, 2, 3, 6, 12].map((count) => count * 3600),
    ...WHOLE_DAYS,
  ],
};

/** The curve of something that is seconds old begins at the left of two minutes. */
const SHORTEST_SPAN_SEC = 120;

function valuesBy(write: (value: number) => string): Pick<uPlot.Axis, "values"> {
  return { values: (_plot, ticks) => ticks.map(write) };
}

/** The library's own end of a single value is a thousand days later. */
function timeRange({ data: [xs] }: uPlot, low: number, high: number): [number, number] {
  return [low, Math.max(xs.at(-1) ?? high, low + SHORTEST_SPAN_SEC)];
}

/** The first and the last bar are drawn whole. */
function besideDays({ data: [xs] }: uPlot, low: number, high: number): [number, number] {
  return [low - 43_200, (xs.at(-1) ?? high) + 43_200];
}

/** Room above and below, and at least what the scale asks for; a flat curve still has an axis. */
function rangeOf(Library: Library, low: number | null, high: number | null, { covers }: Scale): [number, number] {
  const from = Math.min(low ?? covers?.[0] ?? 0, covers?.[0] ?? Number.POSITIVE_INFINITY);
  const to = Math.max(high ?? covers?.[1] ?? 1, covers?.[1] ?? Number.NEGATIVE_INFINITY);
  if (covers && from === covers[0] && to === covers[1]) return [from, to];
  const [bottom, top] = Library.rangeNum(from, to, 0.1, true);
  return [bottom ?? from, top ?? to];
}

/** Dashes tell curves apart in forced colours and for colour-blind readers. */
function seriesOf(
  Library: Library,
  { color = "--accent", shape = "line" }: Curve,
  index: number,
  token: (name: string) => () => string,
): uPlot.Series {
  const paths = {
    dots: () => null,
    bars: Library.paths.bars?.({ size: [0.7, 40] }),
    steps: Library.paths.stepped?.({ align: 1 }),
    line: undefined,
  }[shape];
  const isLine = shape !== "dots" && shape !== "bars";
  return {
    stroke: token(color),
    width: isLine ? 2 : 1,
    spanGaps: true,
    dash: isLine ? (DASHES[index % DASHES.length] ?? []) : [],
    ...(shape === "bars" && { fill: token(color) }),
    // A single value has no line.
    points: { show: (plot) => shape === "dots" || (isLine && plot.data[0].length === 1), size: 7, fill: token(color) },
    ...(paths && { paths }),
  };
}
