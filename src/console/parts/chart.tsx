import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Curve, rowsOf, type Scale, summaryOf } from "./curve.ts";
import { drawPlot, loadLibrary, type Plot } from "./plot.ts";
import { Table } from "./table.tsx";
import { Time } from "./time.tsx";

/**
 * Curves on one pair of axes, the values under the cursor, and the same values as a table.
 * @param name what it shows, such as "Price of Yes"
 * @param over what the horizontal axis shows; "Time" unless the scale writes numbers
 */
export function Chart({
  name,
  curves,
  scale,
  over = "Time",
}: {
  name: string;
  curves: readonly Curve[];
  scale: Scale;
  over?: string;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | undefined>(undefined);
  const [isBroken, setBroken] = useState(false);
  const [under, setUnder] = useState<number>();
  const latest = useRef({ curves, scale });
  latest.current = { curves, scale };
  const form = JSON.stringify(curves.map(({ color, shape }) => [color, shape]));
  useEffect(() => {
    let isOver = false;
    loadLibrary().then(
      (library) => {
        if (isOver || !place.current) return;
        plot.current = drawPlot(library, place.current, latest.current.curves, latest.current.scale, setUnder);
      },
      () => setBroken(true),
    );
    return () => {
      isOver = true;
      plot.current?.end();
      plot.current = undefined;
    };
  }, [form]);
  const values = JSON.stringify(curves.map(({ points }) => points));
  useEffect(() => plot.current?.draw(curves), [values]);
  const rows = useMemo(() => rowsOf(curves), [values]);
  const [x, ...ys] = (under === undefined ? undefined : rows[under]) ?? [];
  return (
    <figure class="chart">
      <figcaption>
        <strong>{name}</strong>
        <span class="soft">
          {x === undefined ? (
            curves.map((each, index) => (
              <>
                {curves.length > 1 && <Swatch of={each} index={index} />}
                {summaryOf(each, scale)}
                {index < curves.length - 1 && "; "}
              </>
            ))
          ) : (
            <>
              <At x={x} scale={scale} />: {curves.flatMap((each, index) => wordsAt(each, ys[index], scale)).join(", ")}
            </>
          )}
        </span>
      </figcaption>
      {isBroken ? (
        <p class="empty">The chart could not be loaded. The table has its values.</p>
      ) : (
        <div
          ref={place}
          class="plot"
          role="img"
          aria-label={`${name}. ${curves.map((each) => summaryOf(each, scale)).join("; ")}`}
        />
      )}
      <AsTable name={name} curves={curves} rows={rows} scale={scale} over={over} />
    </figure>
  );
}

/** How a curve is drawn, before its name. */
function Swatch({ of: { color = "--accent", shape }, index }: { of: Curve; index: number }) {
  const line = shape === "dots" || shape === "bars" ? "dotted" : index === 0 ? "solid" : "dashed";
  return <span class={`swatch ${line}`} style={{ color: `var(${color})` }} aria-hidden="true" />;
}

/** A value of the horizontal axis. */
function At({ x, scale }: { x: number; scale: Scale }) {
  const words = scale.x ?? scale.at;
  return words ? <span>{words(x)}</span> : <Time at={x} />;
}

function wordsAt({ name }: Curve, value: number | null | undefined, { y }: Scale): string[] {
  return value === null || value === undefined ? [] : [`${name} ${y(value)}`];
}

/** Drawn only once it is opened: a curve may have thousands of values. */
function AsTable({
  name,
  curves,
  rows,
  scale,
  over,
}: {
  name: string;
  curves: readonly Curve[];
  rows: ReturnType<typeof rowsOf>;
  scale: Scale;
  over: string;
}) {
  const [isOpen, setOpen] = useState(false);
  type Row = (typeof rows)[number];
  return (
    <details class="values" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{name} as a table</summary>
      {isOpen && (
        <Table
          name={name}
          rows={rows.toReversed()}
          id={([x]) => String(x)}
          empty="There are no values."
          columns={[
            { title: over, cell: ([x]: Row) => <At x={x} scale={scale} /> },
            ...curves.map(({ name: title }, index) => ({
              ...{ title, isNumber: true },
              cell: ([, ...ys]: Row) => {
                const value = ys[index] ?? null;
                return value === null ? "" : scale.y(value);
              },
            })),
          ]}
        />
      )}
    </details>
  );
}
