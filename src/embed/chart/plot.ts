import "./locale.ts";
import uPlot from "uplot";
import styles from "uplot/dist/uPlot.min.css";
import type { Point } from "./curve.ts";
import { percentRange } from "./percent-range.ts";

/** The curve of a market that is seconds old starts at the left of two minutes, and grows to the right. */
const SHORTEST_SPAN_SEC = 120;
const [MINUTE, HOUR, DAY, MONTH, YEAR] = [60, 3600, 86_400, 2_592_000, 31_536_000];
/** Seconds between ticks: at least a minute, because labels show minutes. */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 15].map((count) => count * DAY),
  ...[1, 2, 3, 6].map((count) => count * MONTH),
  ...[1, 2, 5, 10].map((count) => count * YEAR),
];
/** A change of one of these changes the values of the tokens. */
const COLOUR_MEDIA = ["(prefers-color-scheme: dark)", "(forced-colors: active)", "print"];
/** Outside the plot, where no cursor is drawn. */
const OUT_OF_SIGHT = { left: -10, top: -10 };
/** A price holds until the next trade. */
const stepped = uPlot.paths.stepped?.({ align: 1 });

/** A curve with the token of its colour, such as `--pm-yes`. */
export interface Curve {
  points: readonly Point[];
  color: string;
}

export interface PlotOptions {
  /** Writes a time on the axis whose ticks are so many milliseconds apart. */
  axisTime(ms: number, stepMs: number): string;
  /** Writes a price, 0 to 1, as a percentage. */
  percent(price: number): string;
  /** Called with the index of the point under the cursor, and undefined when there is none. */
  onCursor?(index: number | undefined): void;
}

/** Curves on one pair of axes, in an element. */
export interface Plot {
  draw(curves: readonly Curve[]): void;
  /** Reads the colours anew. */
  repaint(): void;
  /** Moves the cursor to a point of the first curve, or out of sight. */
  pointAt(point: Point | undefined): void;
  end(): void;
}

const sheet = new CSSStyleSheet();
sheet.replaceSync(styles);
document.adoptedStyleSheets.push(sheet);

/** Draws as many curves as there are now; later ones replace them one for one. */
export function drawPlot(element: HTMLElement, curves: readonly Curve[], options: PlotOptions): Plot {
  const plot = new uPlot(optionsFor(element, curves, options), dataOf(curves), element);
  const stop = followPage(plot, element);
  return {
    draw: (next) => plot.setData(dataOf(next)),
    repaint: () => plot.redraw(false),
    pointAt: (point) =>
      plot.setCursor(
        point ? { left: plot.valToPos(point.t / 1000, "x"), top: plot.valToPos(point.yes * 100, "y") } : OUT_OF_SIGHT,
      ),
    end() {
      stop();
      plot.destroy();
    },
  };
}

/** Merges the times of all curves into one row, which the library needs. */
function dataOf(curves: readonly Curve[]): uPlot.AlignedData {
  const tables = curves.map(
    ({ points }): uPlot.AlignedData => [points.map(({ t }) => t / 1000), points.map(({ yes }) => yes * 100)],
  );
  return tables.length === 1 ? (tables[0] ?? [[]]) : uPlot.join(tables);
}

/** For the operator's console, which draws charts of its own with the same copy. */
export { uPlot };

/** Adapts a plot to its element's size, to touch and to the system's colours, until the returned function is called. */
function followPage(plot: uPlot, element: HTMLElement): () => void {
  const observer = new ResizeObserver(() => plot.setSize(sizeOf(element)));
  observer.observe(element);
  // The library follows a mouse; a finger or a pen moves the same cursor.
  const touch = ({ pointerType, offsetX, offsetY }: PointerEvent): void => {
    if (pointerType !== "mouse") plot.setCursor({ left: offsetX, top: offsetY });
  };
  for (const type of ["pointerdown", "pointermove"] as const) plot.over.addEventListener(type, touch);
  const repaint = (): void => plot.redraw(false);
  const media = COLOUR_MEDIA.map((query) => matchMedia(query));
  for (const each of media) each.addEventListener("change", repaint);
  return () => {
    for (const each of media) each.removeEventListener("change", repaint);
    observer.disconnect();
  };
}

/** The style sets the height. */
function sizeOf({ clientWidth, clientHeight }: HTMLElement): { width: number; height: number } {
  return { width: clientWidth, height: clientHeight };
}

function optionsFor(
  element: HTMLElement,
  curves: readonly Curve[],
  { axisTime, percent, onCursor }: PlotOptions,
): uPlot.Options {
  const token = (name: string) => () => getComputedStyle(element).getPropertyValue(name).trim();
  const axis = { stroke: token("--pm-muted"), font: `12px ${token("--pm-font")()}`, ticks: { show: false } };
  return {
    ...sizeOf(element),
    // Half of a label is to the left of its tick.
    padding: [8, 0, 0, 32],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false }, points: { size: 8 } },
    scales: {
      x: { range: (_plot, low, high) => [low, Math.max(high, low + SHORTEST_SPAN_SEC)] },
      y: { range: (_plot, low, high) => percentRange(low ?? 50, high ?? 50) },
    },
    series: [
      {},
      ...curves.map(
        ({ color }, index): uPlot.Series => ({
          stroke: token(color),
          width: 2,
          spanGaps: true,
          // Dashes tell the second curve apart in forced colours and for colour-blind readers.
          ...(index > 0 && { dash: [6, 4] }),
          ...(curves.length === 1 && { fill: (plot) => fade(plot, token(color)()) }),
          points: { show: false },
          ...(stepped && { paths: stepped }),
        }),
      ),
    ],
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 80,
        incrs: TIME_STEPS,
        values: (_plot, ticks, _axis, _space, step) => ticks.map((tick) => axisTime(tick * 1000, step * 1000)),
      },
      {
        ...axis,
        side: 1,
        size: 48,
        grid: { stroke: token("--pm-border"), width: 1 },
        incrs: [5, 10, 20, 25, 50],
        values: (_plot, ticks) => ticks.map((tick) => percent(tick / 100)),
      },
    ],
    hooks: { setCursor: [({ cursor }) => onCursor?.(cursor.idx ?? undefined)] },
  };
}

/** From a light tint under the curve to nothing at the bottom; nothing at all in a reader's own colours. */
function fade({ ctx, bbox }: uPlot, colour: string): CanvasGradient | string {
  if (!colour.startsWith("#")) return "transparent";
  const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height);
  gradient.addColorStop(0, `${colour}40`);
  gradient.addColorStop(1, `${colour}00`);
  return gradient;
}
