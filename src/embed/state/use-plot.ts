import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { LOOKS_CHANGED } from "../brand.ts";
import { type Point, percentRange } from "../curve.ts";
import { axisTime } from "../format.ts";

/** The curve of a market that is seconds old starts at the left of two minutes, and grows to the right. */
const SHORTEST_SPAN_SEC = 120;
const [MINUTE, HOUR, DAY, MONTH, YEAR] = [60, 3600, 86_400, 2_592_000, 31_536_000];
/** Seconds between ticks: never less than a minute, which is what the labels can tell apart. */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 15].map((count) => count * DAY),
  ...[1, 2, 3, 6].map((count) => count * MONTH),
  ...[1, 2, 5, 10].map((count) => count * YEAR),
];
/** The tokens have other values where one of these changes. */
const COLOUR_MEDIA = ["(prefers-color-scheme: dark)", "(forced-colors: active)", "print"];
/** Outside the plot, where no cursor is drawn. */
const OUT_OF_SIGHT = { left: -10, top: -10 };
/** A price holds until the next trade. */
const stepped = uPlot.paths.stepped?.({ align: 1 });

/**
 * Draws a curve in the element at `place` for as long as that is shown.
 * @param onCursor called with the index of the point under the cursor
 * @returns the place, and `pointAt`, which moves the cursor to a point, or out of sight
 */
export function usePlot(
  curve: readonly Point[],
  { theme, isShown, onCursor }: { theme: string; isShown: boolean; onCursor: (index: number | undefined) => void },
) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const data = useMemo<uPlot.AlignedData>(
    () => [curve.map(({ t }) => t / 1000), curve.map(({ yes }) => yes * 100)],
    [curve],
  );
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = place.current;
    if (!element || !isShown) return;
    const made = new uPlot(optionsFor(element, onCursor), latest.current, element);
    plot.current = made;
    const stop = followPage(made, element);
    return () => {
      stop();
      made.destroy();
      plot.current = null;
    };
  }, [isShown, onCursor]);
  useEffect(() => plot.current?.setData(data), [data]);
  // Colours are read from the style when it paints.
  useEffect(() => plot.current?.redraw(false), [theme]);

  const pointAt = (index: number | undefined): void => {
    const drawn = plot.current;
    const point = index === undefined ? undefined : curve[index];
    drawn?.setCursor(
      point ? { left: drawn.valToPos(point.t / 1000, "x"), top: drawn.valToPos(point.yes * 100, "y") } : OUT_OF_SIGHT,
    );
  };
  return { place, pointAt };
}

/** Adapts a plot to its element's width, to touch and to the system's colours, until the returned function is called. */
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
  document.addEventListener(LOOKS_CHANGED, repaint);
  return () => {
    for (const each of media) each.removeEventListener("change", repaint);
    document.removeEventListener(LOOKS_CHANGED, repaint);
    observer.disconnect();
  };
}

/** The style says how high it is. */
function sizeOf({ clientWidth, clientHeight }: HTMLElement): { width: number; height: number } {
  return { width: clientWidth, height: clientHeight };
}

function optionsFor(element: HTMLElement, onCursor: (index: number | undefined) => void): uPlot.Options {
  const token = (name: string) => () => getComputedStyle(element).getPropertyValue(name).trim();
  const axis = { stroke: token("--pm-muted"), font: `12px ${token("--pm-font")()}`, ticks: { show: false } };
  return {
    ...sizeOf(element),
    padding: [8, 0, 0, 22],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false }, points: { size: 8, fill: token("--pm-yes") } },
    scales: {
      x: { range: (_plot, low, high) => [low, Math.max(high, low + SHORTEST_SPAN_SEC)] },
      y: { range: (_plot, low, high) => percentRange(low ?? 50, high ?? 50) },
    },
    series: [
      {},
      {
        stroke: token("--pm-yes"),
        width: 2,
        fill: (plot) => fade(plot, token("--pm-yes")()),
        points: { show: false },
        ...(stepped && { paths: stepped }),
      },
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
        size: 42,
        grid: { stroke: token("--pm-border"), width: 1 },
        incrs: [5, 10, 20, 25, 50],
        values: (_plot, ticks) => ticks.map((tick) => `${tick}%`),
      },
    ],
    hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)] },
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
