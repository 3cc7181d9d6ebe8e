import { useMemo, useState } from "preact/hooks";
import { type Point, reachingNow, summaryOf, walked } from "../curve.ts";
import { chance, moment } from "../format.ts";
import { usePlot } from "../state/use-plot.ts";

/** The most rows, apart from the newest price. */
const ROWS = 12;

/** The YES price over time, as a curve that the arrow keys walk along, or as a table. */
export function Chart({ points, theme, now }: { points: readonly Point[]; theme: string; now: number }) {
  const [cursor, setCursor] = useState<number>();
  const [asTable, setAsTable] = useState(false);
  const curve = useMemo(() => reachingNow(points, now), [points, now]);
  const { place, pointAt } = usePlot(curve, { theme, isShown: !asTable, onCursor: setCursor });
  const shown = cursor === undefined ? undefined : curve[cursor];
  const said = shown ? `${chance(shown.yes)} on ${moment(shown.t)}` : summaryOf(points);
  const walk = (event: KeyboardEvent): void => {
    const index = walked(event.key, cursor, curve.length - 1);
    if (index === undefined) return;
    event.preventDefault();
    setCursor(index);
    pointAt(index);
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
            pointAt(undefined);
          }}
        />
      )}
    </figure>
  );
}

function PriceTable({ points }: { points: readonly Point[] }) {
  const step = Math.max(1, Math.ceil(points.length / ROWS));
  const rows = points.filter((_, index) => index % step === 0 || index === points.length - 1).reverse();
  return (
    <table>
      <caption class="hidden">Chance of Yes over time, newest first</caption>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Yes</th>
          <th scope="col">No</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ t, yes }, index) => (
          <tr key={`${t} ${index}`}>
            <td>{moment(t)}</td>
            <td>{chance(yes)}</td>
            <td>{chance(1 - yes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
