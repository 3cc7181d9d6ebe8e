import { useMemo, useState } from "preact/hooks";
import { type Point, RANGES, type Range, reachingNow, summaryOf, walked, within } from "../chart/curve.ts";
import { useSpeech } from "../speech.ts";
import { usePlot } from "../state/use-plot.ts";

/** The most rows, apart from the newest price. */
const ROWS = 12;

export interface ChartProps {
  points: readonly Point[];
  theme: string;
  now: number;
  isSettled: boolean;
}

/** The YES price over a chosen period, as a curve that the arrow keys walk along, or as a table. */
export function Chart({ points, theme, now, isSettled }: ChartProps) {
  const speaker = useSpeech();
  const { say, chance, moment, axisTime, percent } = speaker;
  const [range, setRange] = useState<Range>("range-all");
  const [cursor, setCursor] = useState<number>();
  const [asTable, setAsTable] = useState(false);
  const curve = useMemo(() => reachingNow(within(points, now, range), now), [points, now, range]);
  const curves = useMemo(() => [{ points: curve, color: "--pm-yes" }], [curve]);
  const { place, pointAt } = usePlot(curves, { theme, isShown: !asTable, axisTime, percent, onCursor: setCursor });
  const shown = cursor === undefined ? undefined : curve[cursor];
  const said = shown
    ? say("market.at", { chance: chance(shown.yes), time: moment(shown.t) })
    : summaryOf(speaker, curve, isSettled);
  const walk = (event: KeyboardEvent): void => {
    const index = walked(event.key, cursor, curve.length - 1);
    if (index === undefined) return;
    event.preventDefault();
    setCursor(index);
    pointAt(curve[index]);
  };

  return (
    <figure class="chart" data-pm="chart">
      <figcaption>
        <span data-pm="change" aria-live="polite">
          {said}
        </span>
        <button type="button" class="link" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {say("market.table")}
        </button>
      </figcaption>
      <Ranges chosen={range} onChoose={setRange} />
      {asTable ? (
        <PriceTable points={curve} />
      ) : (
        <div
          ref={place}
          class="plot"
          role="slider"
          tabIndex={0}
          aria-label={say("market.curve", { side: say("common.yes") })}
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

/** The periods to choose from. */
export function Ranges({ chosen, onChoose }: { chosen: Range; onChoose(range: Range): void }) {
  const { say } = useSpeech();
  return (
    <fieldset class="ranges">
      <legend class="hidden">{say("market.ranges")}</legend>
      {(Object.keys(RANGES) as Range[]).map((range) => (
        <button
          key={range}
          type="button"
          data-pm={range}
          aria-pressed={range === chosen}
          title={say(`market.${range}Long`)}
          onClick={() => onChoose(range)}
        >
          {say(`market.${range}`)}
        </button>
      ))}
    </fieldset>
  );
}

function PriceTable({ points }: { points: readonly Point[] }) {
  const { say, chance, moment } = useSpeech();
  const step = Math.max(1, Math.ceil(points.length / ROWS));
  const rows = points.filter((_, index) => index % step === 0 || index === points.length - 1).reverse();
  return (
    <table>
      <caption class="hidden">{say("market.tableCaption", { side: say("common.yes") })}</caption>
      <thead>
        <tr>
          <th scope="col">{say("market.when")}</th>
          <th scope="col">{say("common.yes")}</th>
          <th scope="col">{say("common.no")}</th>
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
