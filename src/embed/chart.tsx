import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { type Point, percentRange, reachingNow, summaryOf } from "./curve.ts";
import { axisTime, chance, moment } from "./format.ts";
import { PriceTable } from "./price-table.tsx";

const HEIGHT_PX = 190;
/** A market that is seconds old has its curve at the left of two minutes, into which it grows. */
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
/** A price holds until the next trade. */
const stepped = uPlot.paths.stepped?.({ align: 1 });
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };

/** The YES price over time: to look at, to walk through with the arrow keys, and to read as a table. */
export function Chart({ points, theme, now }: { points: readonly Point[]; theme: string; now: number }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const [cursor, setCursor] = useState<number>();
  const [asTable, setAsTable] = useState(false);
  // The last price holds until now, so the curve ends at the present.
  const curve = useMemo(() => reachingNow(points, now), [points, now]);
  const data = useMemo<uPlot.AlignedData>(
    () => [curve.map(({ t }) => t / 1000), curve.map(({ yes }) => yes * 100)],
    [curve],
  );
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = place.current;
    if (!element || asTable) return;
    const made = new uPlot(optionsFor(element, setCursor), latest.current, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    observer.observe(element);
    // The library follows a mouse; a finger or a pen moves the same cursor.
    const touch = ({ pointerType, offsetX, offsetY }: PointerEvent): void => {
      if (pointerType !== "mouse") made.setCursor({ left: offsetX, top: offsetY });
    };
    for (const type of ["pointerdown", "pointermove"] as const) made.over.addEventListener(type, touch);
    const scheme = matchMedia("(prefers-color-scheme: light)");
    const repaint = (): void => made.redraw(false);
    scheme.addEventListener("change", repaint);
    return () => {
      scheme.removeEventListener("change", repaint);
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [asTable]);
  useEffect(() => plot.current?.setData(data), [data]);
  // Colours are read from the style when it paints.
  useEffect(() => plot.current?.redraw(false), [theme]);

  const shown = cursor === undefined ? undefined : curve[cursor];
  const said = shown ? `${chance(shown.yes)} on ${moment(shown.t)}` : summaryOf(points);
  const walk = (event: KeyboardEvent): void => {
    const last = curve.length - 1;
    const step = STEPS[event.key];
    const from = cursor ?? last;
    const next = event.key === "Home" ? 0 : event.key === "End" ? last : step === undefined ? undefined : from + step;
    if (next === undefined) return;
    event.preventDefault();
    const index = Math.min(last, Math.max(0, next));
    setCursor(index);
    const [times = [], prices = []] = data;
    plot.current?.setCursor({
      left: plot.current.valToPos(times[index] ?? 0, "x"),
      top: plot.current.valToPos(prices[index] ?? 0, "y"),
    });
  };

  return (
    <figure class="chart">
      <figcaption>
        <span aria-live="polite">{said}</span>
        <button type="button" class="link" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          Table
        </button>
      </figcaption>
      {asTable ? (
        <PriceTable points={points} />
      ) : (
        <div
          ref={place}
          class="plot"
          role="slider"
          tabIndex={0}
          aria-label="Chance of Yes over time: the arrow keys walk through it"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round((shown ?? curve.at(-1) ?? { yes: 0 }).yes * 100)}
          aria-valuetext={said}
          onKeyDown={walk}
          onBlur={() => {
            setCursor(undefined);
            plot.current?.setCursor({ left: -10, top: -10 });
          }}
        />
      )}
    </figure>
  );
}

function optionsFor(element: HTMLElement, onCursor: (index: number | undefined) => void): uPlot.Options {
  const colour = (name: string) => () => getComputedStyle(element).getPropertyValue(name).trim();
  const axis = { stroke: colour("--soft"), font: "12px system-ui, sans-serif", ticks: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    padding: [8, 0, 0, 22],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false }, points: { size: 8, fill: colour("--yes") } },
    scales: {
      x: { range: (_plot, low, high) => [low, Math.max(high, low + SHORTEST_SPAN_SEC)] },
      y: { range: (_plot, low, high) => percentRange(low ?? 50, high ?? 50) },
    },
    series: [
      {},
      {
        stroke: colour("--yes"),
        width: 2,
        fill: (plot) => fade(plot, colour("--yes")()),
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
        grid: { stroke: colour("--line"), width: 1 },
        incrs: [5, 10, 20, 25, 50],
        values: (_plot, ticks) => ticks.map((tick) => `${tick}%`),
      },
    ],
    hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)] },
  };
}

/** From a light tint under the curve to nothing at the bottom. */
function fade({ ctx, bbox }: uPlot, colour: string): CanvasGradient {
  const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height);
  gradient.addColorStop(0, `${colour}40`);
  gradient.addColorStop(1, `${colour}00`);
  return gradient;
}
