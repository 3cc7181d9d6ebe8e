import { useMemo, useState } from "preact/hooks";
import { type Point, reachingNow, summaryOf, walked } from "../curve.ts";
import { chance, moment } from "../format.ts";
import { usePlot } from "../state/use-plot.ts";
import { PriceTable } from "./price-table.tsx";

/** The YES price over time: to look at, to walk through with the arrow keys, and to read as a table. */
export function Chart({ points, theme, now }: { points: readonly Point[]; theme: string; now: number }) {
  const [cursor, setCursor] = useState<number>();
  const [asTable, setAsTable] = useState(false);
  // The last price holds until now, so the curve ends at the present.
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
