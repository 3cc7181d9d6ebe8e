import { useEffect, useMemo, useState } from "preact/hooks";
import type { WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { count, percent } from "../format.ts";
import { useReport } from "../live/use-live.ts";
import { Facts } from "../parts/facts.tsx";
import { MarketLink } from "../parts/links.tsx";
import { Table } from "../parts/table.tsx";
import { Usd } from "../parts/usd.tsx";
import { Section, View } from "../parts/view.tsx";
import { addressOf, go } from "../router.ts";
import { pmctl } from "../terminal-line.ts";
import { Categories, Symbols } from "./risk/groups.tsx";
import {
  lossIf,
  priceField,
  risksBySymbol,
  type Stated,
  type Supposed,
  settlesField,
  supposedIn,
  unlisted,
  worstCase,
} from "./risk/what-if.ts";

type Report = WireResult<"getRiskReport">;

/** So many markets are read, and so many with a symbol; the sums count every market. */
const DRAWN = 200;

/** What the house can lose, by market and in all, against the treasury, and if markets settle as supposed. */
export function RiskView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const live = useReport((api) => api.getRiskReport({ limit: DRAWN }), "");
  // Read by itself, because each tagged trade is looked up.
  const hedges = useReport((api) => api.getHedgeExposure({}), "");
  const [stated, suppose] = useStated(query);
  const symbols = useMemo(() => risksBySymbol(live.value?.items ?? []), [live.value]);
  const supposed = supposedIn(stated, live.value?.items ?? [], symbols);
  return (
    <View name="Risk" live={live} line={pmctl(tenant, "risk")}>
      {(report) => (
        <>
          <p>By settlement as Yes or No. A void may cost more: its dialog says how much.</p>
          <Sums of={report} supposed={supposed} />
          <Unlisted count={unlisted(stated, report.items, symbols)} />
          <h2>By symbol</h2>
          <Part of={report.pricedMarkets} drawn={DRAWN} />
          <Symbols of={symbols} stated={stated} onSuppose={(feed, price) => suppose(priceField(feed), price)} />
          <h2>By category</h2>
          <Categories of={report.byCategory} />
          <h2>By market</h2>
          <Part of={report.markets} drawn={DRAWN} />
          <Table
            name="Risks"
            rows={report.items.slice(0, DRAWN)}
            id={({ marketId }) => marketId}
            empty="No market is unsettled, so the house can lose nothing."
            columns={[
              { title: "Market", cell: ({ marketId, question }) => <MarketLink id={marketId} question={question} /> },
              { title: "Status", cell: ({ status }) => status },
              {
                title: "Most it can cost, Yes or No",
                isNumber: true,
                cell: ({ maxLiability }) => <Usd of={maxLiability} />,
              },
              {
                title: "Of the treasury",
                isNumber: true,
                cell: ({ maxLiability }) => shareOf(maxLiability, report.treasuryUsd),
              },
              { title: "Pays if Yes", isNumber: true, cell: ({ yesPayout }) => <Usd of={yesPayout} /> },
              { title: "Pays if No", isNumber: true, cell: ({ noPayout }) => <Usd of={noPayout} /> },
              {
                title: "Suppose it settles",
                cell: ({ marketId, question }) => (
                  <select
                    aria-label={`Suppose that it settles: ${question}`}
                    value={supposed[marketId] ?? ""}
                    onChange={({ currentTarget }) => suppose(settlesField(marketId), currentTarget.value)}
                  >
                    <option value="">Either way</option>
                    <option value="yes">Yes</option>
                    <option value="no">No</option>
                  </select>
                ),
              },
              {
                title: "Then it costs",
                isNumber: true,
                cell: (risk) => {
                  const outcome = supposed[risk.marketId];
                  return <Usd of={outcome ? lossIf(risk, outcome) : null} />;
                },
              },
            ]}
          />
          <Section title="Hedges by symbol" live={hedges}>
            {({ hedgeBook }) => <Hedges of={hedgeBook} />}
          </Section>
        </>
      )}
    </View>
  );
}

const PAUSE_MS = 250;

/** The address's query, where it takes what a person supposes once the slider rests. */
function useStated(query: URLSearchParams): [Stated, (name: string, value: string) => void] {
  const [moving, setMoving] = useState<Stated>();
  useEffect(() => {
    if (!moving) return;
    const timer = setTimeout(() => {
      go(addressOf("/risk", moving), { replace: true });
      setMoving(undefined);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [moving]);
  const stated = moving ?? Object.fromEntries(query);
  return [stated, (name, value) => setMoving({ ...stated, [name]: value })];
}

function Unlisted({ count: others }: { count: number }) {
  if (others === 0) return null;
  return <p class="soft">Of what the address supposes, {count(others)} counts for nothing: no such row is listed.</p>;
}

/** Says that only some markets are drawn. */
function Part({ of: markets, drawn }: { of: number; drawn: number }) {
  if (markets <= drawn) return null;
  return (
    <p>
      The {drawn} of {counted(markets, "market")} in which the house can lose most:
    </p>
  );
}

function Sums({ of, supposed }: { of: Report; supposed: Supposed }) {
  const { treasuryUsd } = of;
  const { worst, supposed: loss, rest } = worstCase(of.items, supposed, of.maxLiability);
  const isSupposing = Object.keys(supposed).length > 0;
  return (
    <Facts
      of={[
        ["Unsettled markets", count(of.markets)],
        lossOrGain("The house can lose at most", "The house gains at least", worst),
        ["In the treasury", <Usd key="treasury" of={treasuryUsd} />],
        ["Worst case of the treasury", worst >= 0 && shareOf(worst, treasuryUsd)],
        ...(isSupposing
          ? [
              lossOrGain("Cost of what is supposed", "Gain of what is supposed", loss),
              lossOrGain("Then the house can lose at most", "Then the house gains at least", loss + rest),
            ]
          : []),
      ]}
    />
  );
}

/** A loss below 0 is a gain, and named so. */
const lossOrGain = (loss: string, gain: string, of: number) =>
  of < 0 ? ([gain, <Usd key={gain} of={-of} />] as const) : ([loss, <Usd key={loss} of={of} />] as const);

const shareOf = (loss: number, treasuryUsd: number): string => (treasuryUsd > 0 ? percent(loss / treasuryUsd) : "—");

function Hedges({ of }: { of: WireResult<"getHedgeExposure">["hedgeBook"] }) {
  return (
    <Table
      name="Hedges"
      rows={of}
      id={({ symbol }) => symbol}
      empty="No open trade is tagged as a hedge."
      columns={[
        { title: "Symbol", cell: ({ symbol }) => <bdi>{symbol}</bdi> },
        { title: "Open trades", isNumber: true, cell: ({ openTrades }) => count(openTrades) },
        { title: "Long", isNumber: true, cell: ({ longHedges }) => count(longHedges) },
        { title: "Short", isNumber: true, cell: ({ shortHedges }) => count(shortHedges) },
        { title: "Notional", isNumber: true, cell: ({ totalNotionalMinor }) => <Usd of={totalNotionalMinor / 100} /> },
        { title: "Active cost", isNumber: true, cell: ({ activeCostMinor }) => <Usd of={activeCostMinor / 100} /> },
      ]}
    />
  );
}
