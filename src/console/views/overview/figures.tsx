import type { ComponentChildren } from "preact";
import type { WireResult } from "../../../contract/operations.ts";
import { DAY_MS } from "../../../domain/time/units.ts";
import { count, dateOf, percent, usd } from "../../format.ts";
import { Chart } from "../../parts/chart.tsx";
import { Table } from "../../parts/table.tsx";
import { Usd } from "../../parts/usd.tsx";
import { addressOf } from "../../router.ts";

type Daily = WireResult<"getDailyReport">;
type Figure = keyof Daily["now"];

interface Period {
  since: string;
  until: string;
}

/** From the first of some days until the last one ends. */
const periodOf = (days: Daily["days"]): Period => ({
  since: new Date(Date.parse(days[0]?.day ?? "")).toISOString(),
  until: new Date(Date.parse(days.at(-1)?.day ?? "") + DAY_MS).toISOString(),
});
const entriesOf = (type?: string) => (period: Period) => addressOf("/record", { type, ...period });
const settled = entriesOf("market.settled");

const dollars = (value: number) => <Usd of={value} />;

/** Every figure, how it is shown, and where its rows are. */
const FIGURES: readonly (readonly [
  name: string,
  of: Figure,
  show: (value: number) => ComponentChildren,
  rows: (period: Period) => string,
])[] = [
  ["Volume", "volume", dollars, entriesOf("trade.executed")],
  ["House result", "houseRevenue", dollars, () => "#categories"],
  ["Fees", "fees", dollars, entriesOf("trade.executed")],
  ["Market making", "spreadIncome", dollars, settled],
  ["Exposure at the end", "exposure", dollars, () => addressOf("/risk")],
  ["Active traders", "activeTraders", count, () => "#traders"],
  ["Settled markets", "settledMarkets", count, settled],
];

/** Each figure of the period against the period before; its name leads to the rows behind it. */
export function Comparison({ of: { now, before, days } }: { of: Daily }) {
  const period = periodOf(days);
  return (
    <Table
      name="Figures"
      rows={FIGURES}
      id={([name]) => name}
      empty="There is nothing to compare."
      columns={[
        {
          title: "Figure",
          cell: ([name, , , rows]) => (
            <>
              <a href={rows(period)}>{name}</a>
              {rows === settled && (
                <>
                  {" "}
                  <a href={entriesOf("market.voided")(period)}>voided</a>
                </>
              )}
            </>
          ),
        },
        { title: "In the period", isNumber: true, cell: ([, of, show]) => show(now[of]) },
        { title: "In the period before", isNumber: true, cell: ([, of, show]) => show(before[of]) },
        { title: "Change", isNumber: true, cell: ([, of]) => changeOf(now[of], before[of]) },
      ]}
    />
  );
}

function changeOf(now: number, before: number): string {
  if (before === 0) return now === 0 ? "—" : "new";
  const share = (now - before) / Math.abs(before);
  return `${share > 0 ? "+" : ""}${percent(share)}`;
}

/** Fees beside a volume would be a line on its axis, so each figure has a chart, and an axis, of its own. */
const CHARTS: readonly (readonly [name: string, of: Figure, shape: "bars" | "line", color: string])[] = [
  ["Volume", "volume", "bars", "--accent"],
  ["Fees", "fees", "bars", "--warn"],
  ["House result", "houseRevenue", "line", "--good"],
  ["Active traders", "activeTraders", "bars", "--accent"],
  ["Exposure", "exposure", "line", "--bad"],
];

/** The figures day by day. Each day is drawn at the reader's own midnight, so that its date is that of the axis. */
export function Charts({ of: { days } }: { of: Daily }) {
  return (
    <div class="charts">
      {CHARTS.map(([name, of, shape, color]) => (
        <Chart
          key={name}
          name={name}
          curves={[{ name, shape, color, points: days.map((day) => [Date.parse(day.day.slice(0, 19)), day[of]]) }]}
          scale={{
            ...(of === "activeTraders" ? { y: count, covers: [0, 1] } : { y: usd, covers: [0, 0.01] }),
            at: dateOf,
          }}
          over="Day (UTC)"
        />
      ))}
    </div>
  );
}

/** So many days are drawn at first, the latest ones. */
const DRAWN = 14;

/** Every day, the latest first; each leads to its entries. */
export function Days({ of: { days } }: { of: Daily }) {
  return (
    <Table
      name="Days"
      rows={days.toReversed()}
      first={DRAWN}
      id={({ day }) => day.slice(0, 10)}
      empty="There is no day."
      columns={[
        {
          title: "Day (UTC)",
          cell: (day) => <a href={entriesOf()(periodOf([day]))}>{day.day.slice(0, 10)}</a>,
        },
        { title: "Volume", isNumber: true, cell: ({ volume }) => <Usd of={volume} /> },
        { title: "Fees", isNumber: true, cell: ({ fees }) => <Usd of={fees} /> },
        { title: "House result", isNumber: true, cell: ({ houseRevenue }) => <Usd of={houseRevenue} /> },
        { title: "Traders", isNumber: true, cell: ({ activeTraders }) => count(activeTraders) },
        { title: "Settled", isNumber: true, cell: ({ settledMarkets }) => count(settledMarkets) },
        { title: "Exposure", isNumber: true, cell: ({ exposure }) => <Usd of={exposure} /> },
      ]}
    />
  );
}
