import type { ComponentChildren } from "preact";
import type { WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { count, percent, usd } from "../format.ts";
import { useLive } from "../live/use-live.ts";
import { Chart } from "../parts/chart.tsx";
import { TraderLink } from "../parts/links.tsx";
import { Filter } from "../parts/search.tsx";
import { Table } from "../parts/table.tsx";
import { Usd } from "../parts/usd.tsx";
import { View } from "../parts/view.tsx";
import { pmctl } from "../terminal-line.ts";
import { type Compared, type Part, readCompared, readParts } from "./overview/periods.ts";

const PATH = "/overview";
const USUAL_DAYS = 30;
const LONGEST_DAYS = 1825;
const PERIODS = [
  ["", "30 days"],
  ["1", "Today"],
  ["7", "7 days"],
  ["90", "90 days"],
  ["365", "a year"],
] as const;
const DRAWN = 20;

/** How the business does over a chosen period, against the period before. */
export function OverviewView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const days = daysOf(query.get("days"));
  const live = useLive(async (api) => {
    const [compared, parts, house, { traders }] = await Promise.all([
      readCompared(api, days),
      readParts(api, days),
      api.getHouseReport({ periodDays: days }),
      api.getTradersReport({ periodDays: days }),
    ]);
    return { compared, parts, house, traders };
  }, String(days));
  const tools = <Filter path={PATH} query={query} label="Period" name="days" options={PERIODS} />;
  return (
    <View name="Overview" live={live} line={pmctl(tenant, "report", "overview", "--days", days)} tools={tools}>
      {({ compared, parts, house, traders }) => (
        <>
          <Comparison of={compared} />
          <Parts of={parts} />
          <h2>By category</h2>
          <Categories of={house.byCategory} />
          <h2>Largest traders</h2>
          <Traders of={traders.slice(0, DRAWN)} />
        </>
      )}
    </View>
  );
}

/** The days that an address states; the usual ones for what is no number of days. */
function daysOf(stated: string | null): number {
  const days = Number(stated);
  return Number.isInteger(days) && days >= 1 && days <= LONGEST_DAYS ? days : USUAL_DAYS;
}

const FIGURES: readonly (readonly [
  name: string,
  of: keyof Compared["before"],
  show: (value: number) => ComponentChildren,
])[] = [
  ["Volume", "volume", (value) => <Usd of={value} />],
  ["House result", "revenue", (value) => <Usd of={value} />],
  ["Fees", "fees", (value) => <Usd of={value} />],
  ["Market making", "spread", (value) => <Usd of={value} />],
  ["Settled markets", "settled", count],
];

function Comparison({ of: { now, before } }: { of: Compared }) {
  return (
    <Table
      name="Figures"
      rows={FIGURES}
      id={([name]) => name}
      empty="There is nothing to compare."
      columns={[
        { title: "Figure", cell: ([name]) => name },
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

/** Volume and house result of each part, by the first day of the part, counted back from today. */
function Parts({ of: parts }: { of: readonly Part[] }) {
  const pointsOf = (value: (part: Part) => number) => parts.map((part) => [-part.fromDaysAgo, value(part)] as const);
  const curves = [
    { name: "Volume", points: pointsOf(({ volume }) => volume), shape: "bars" },
    { name: "House result", points: pointsOf(({ revenue }) => revenue), color: "--good" },
  ] as const;
  return <Chart name="Volume and house result" curves={curves} scale={{ y: usd, x: dayWords }} over="From" />;
}

function dayWords(x: number): string {
  const daysAgo = Math.round(-x) - 1;
  return daysAgo <= 0 ? "today" : `${counted(daysAgo, "day")} ago`;
}

function Categories({ of }: { of: WireResult<"getHouseReport">["byCategory"] }) {
  return (
    <Table
      name="Categories"
      rows={of}
      id={({ category }) => category}
      empty="Nothing was traded in this period."
      columns={[
        { title: "Category", cell: ({ category }) => <bdi>{category}</bdi> },
        { title: "Volume", isNumber: true, cell: ({ volume }) => <Usd of={volume} /> },
        { title: "House result", isNumber: true, cell: ({ revenue }) => <Usd of={revenue} /> },
        { title: "Margin", isNumber: true, cell: ({ netMargin }) => percent(netMargin) },
      ]}
    />
  );
}

function Traders({ of }: { of: WireResult<"getTradersReport">["traders"] }) {
  return (
    <Table
      name="Traders"
      rows={of}
      id={({ userId }) => userId}
      empty="Nobody traded in this period."
      columns={[
        { title: "Trader", cell: ({ userId }) => <TraderLink id={userId} /> },
        { title: "Volume", isNumber: true, cell: ({ volume }) => <Usd of={volume} /> },
        { title: "Trades", isNumber: true, cell: ({ trades }) => count(trades) },
        { title: "Result", isNumber: true, cell: ({ totalPnl }) => <Usd of={totalPnl} /> },
      ]}
    />
  );
}
