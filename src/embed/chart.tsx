import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { chance, day, moment } from "./format.ts";

export interface Point {
  /** Milliseconds since the epoch. */
  t: number;
  /** YES price, 0 to 1. */
  yes: number;
}

const HEIGHT_PX = 200;
/** Rows of the table for those who read instead of looking. */
const TABLE_ROWS = 24;

/** The YES price over time: to look at, to walk through with the arrow keys, and to read as a table. */
export function Chart({ points, theme }: { points: readonly Point[]; theme: string }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const [cursor, setCursor] = useState<number>();
  const [asTable, setAsTable] = useState(false);
  const data = useMemo<uPlot.AlignedData>(
    () => [points.map(({ t }) => t / 1000), points.map(({ yes }) => yes * 100)],
    [points],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: new data goes into the plot that is there
  useEffect(() => {
    const element = place.current;
    if (!element || asTable) return;
    const made = new uPlot(optionsFor(element, setCursor), data, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [theme, asTable]);
  useEffect(() => plot.current?.setData(data), [data]);

  const shown = cursor === undefined ? undefined : points[cursor];
  const walk = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -points.length, End: points.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const last = points.length - 1;
    const next = Math.min(last, Math.max(0, (cursor ?? last) + step));
    setCursor(next);
    const [times = [], prices = []] = data;
    plot.current?.setCursor({
      left: plot.current.valToPos(times[next] ?? 0, "x"),
      top: plot.current.valToPos(prices[next] ?? 0, "y"),
    });
  };

  return (
    <figure class="chart">
      <figcaption>
        <span aria-live="polite">{shown ? `${chance(shown.yes)} on ${moment(shown.t)}` : summaryOf(points)}</span>
        <button type="button" class="link" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? "Chart" : "Table"}
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
          aria-label="Price chart: the arrow keys walk through it"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round((shown ?? points.at(-1) ?? { yes: 0 }).yes * 100)}
          aria-valuetext={shown ? `${chance(shown.yes)} on ${moment(shown.t)}` : summaryOf(points)}
          onKeyDown={walk}
          onBlur={() => setCursor(undefined)}
        />
      )}
    </figure>
  );
}

function PriceTable({ points }: { points: readonly Point[] }) {
  const step = Math.max(1, Math.ceil(points.length / TABLE_ROWS));
  const rows = points.filter((_, index) => index % step === 0 || index === points.length - 1).reverse();
  return (
    <div class="scroll">
      <table>
        <caption class="hidden">Chance of Yes over time, newest first</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Yes</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ t, yes }) => (
            <tr key={t}>
              <td>{moment(t)}</td>
              <td>{chance(yes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The curve in one sentence. */
export function summaryOf(points: readonly Point[]): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return "No trades yet.";
  const change = Math.round((last.yes - first.yes) * 100);
  const way = change === 0 ? "unchanged" : `${change > 0 ? "up" : "down"} ${Math.abs(change)} points`;
  return `${chance(last.yes)} chance, ${way} since ${day(first.t)}.`;
}

function optionsFor(element: HTMLElement, onCursor: (index: number | undefined) => void): uPlot.Options {
  const style = getComputedStyle(element);
  const [line, soft, grid] = ["--yes", "--soft", "--line"].map((name) => style.getPropertyValue(name).trim());
  const axis = { stroke: soft ?? "", font: "12px system-ui, sans-serif", ticks: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 } },
    scales: { y: { range: (_plot, low, high) => [Math.max(0, low - 5), Math.min(100, high + 5)] } },
    series: [{}, { stroke: line ?? "", width: 2, fill: `${line}1f`, points: { show: false } }],
    axes: [
      { ...axis, grid: { show: false } },
      {
        ...axis,
        side: 1,
        size: 44,
        grid: { stroke: grid ?? "", width: 1 },
        values: (_plot, ticks) => ticks.map((tick) => `${tick}%`),
      },
    ],
    hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)] },
  };
}
