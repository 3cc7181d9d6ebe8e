import type { WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { count, percent } from "../format.ts";
import { useReport } from "../live/use-live.ts";
import { CategoryLink, TraderLink } from "../parts/links.tsx";
import { Filter } from "../parts/search.tsx";
import { Table } from "../parts/table.tsx";
import { Usd } from "../parts/usd.tsx";
import { Section, View } from "../parts/view.tsx";
import { pmctl } from "../terminal-line.ts";
import { Charts, Comparison, Days } from "./overview/figures.tsx";

const PATH = "/overview";
const USUAL_DAYS = 30;
const LONGEST_DAYS = 1825;
const PERIODS = [
  ["30", "30 days"],
  ["1", "Today"],
  ["7", "7 days"],
  ["90", "90 days"],
  ["365", "365 days"],
] as const;
const DRAWN = 20;

/** How the business does over a chosen period, against the period before. */
export function OverviewView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const days = daysOf(query.get("days"));
  // Each part is read by itself: the one of traders values every position.
  const daily = useReport((api) => api.getDailyReport({ periodDays: days }), String(days));
  const house = useReport((api) => api.getHouseReport({ periodDays: days }), String(days));
  const leaders = useReport((api) => api.getTradersReport({ periodDays: days }), String(days));
  const tools = <Filter path={PATH} query={query} label="Period" name="days" options={PERIODS} />;
  return (
    <View name="Overview" live={daily} line={pmctl(tenant, "report", "daily", "--days", days)} tools={tools}>
      {(report) => (
        <>
          <Comparison of={report} />
          <Charts of={report} />
          <h2>By day</h2>
          <Days of={report} />
          <Section title="By category" id="categories" live={house}>
            {({ byCategory }) => <Categories of={byCategory} />}
          </Section>
          <Section title="Largest traders" id="traders" live={leaders}>
            {({ traders, totals }) => (
              <>
                {totals.traders > traders.length && (
                  <p>
                    The {traders.length} of {counted(totals.traders, "trader")} with the largest volume.
                  </p>
                )}
                <Traders of={traders} />
              </>
            )}
          </Section>
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

function Categories({ of }: { of: WireResult<"getHouseReport">["byCategory"] }) {
  return (
    <Table
      name="Categories"
      rows={of}
      id={({ category }) => category}
      empty="Nothing was traded in this period."
      columns={[
        { title: "Category", cell: ({ category }) => <CategoryLink category={category} /> },
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
      first={DRAWN}
      id={({ userId }) => userId}
      empty="No user traded in this period."
      columns={[
        { title: "Trader", cell: ({ userId }) => <TraderLink id={userId} /> },
        { title: "Volume", isNumber: true, cell: ({ volume }) => <Usd of={volume} /> },
        { title: "Trades", isNumber: true, cell: ({ trades }) => count(trades) },
        { title: "Result at current prices", isNumber: true, cell: ({ totalPnl }) => <Usd of={totalPnl} /> },
      ]}
    />
  );
}
