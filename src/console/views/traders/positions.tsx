import type { WireResult } from "../../../contract/operations.ts";
import { sumOf } from "../../../domain/money.ts";
import { useDesk } from "../../desk.ts";
import { count, outcomeWords, percent, usd } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { MarketLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";
import { pmctlAbout } from "../../terminal-line.ts";

type Portfolio = WireResult<"getUserPortfolio">;

/** The most markets that are shown. */
const ROWS = 100;

/** What a trader holds of a market, or held until it was settled. Dollars. */
interface Holding {
  marketId: string;
  question: string;
  /** Null while the market is not settled. */
  outcome: Portfolio["settlements"][number]["outcome"] | null;
  yesPrice: number;
  yes: number;
  no: number;
  cost: number;
  /** What selling all shares now would pay, or what the outcome paid. */
  worth: number;
}

/** What a trader holds, and the last settled positions, with the result of each market. */
export function Positions({ id }: { id: string }) {
  const { tenant } = useDesk().session;
  const live = useLive((api) => api.getUserPortfolio({ id }), id);
  return (
    <Section title="Positions" live={live}>
      {(portfolio) => {
        const holdings = holdingsOf(portfolio);
        const more = holdings.length - ROWS;
        return (
          <>
            <Table
              name="Positions"
              rows={holdings.slice(0, ROWS)}
              id={({ marketId }) => marketId}
              kind={({ outcome }) => (outcome === null ? "open" : "settled")}
              empty="No shares now, and none at a settlement. The statement shows what happened."
              columns={[
                {
                  title: "Market",
                  cell: ({ marketId, question }) => <MarketLink id={marketId} question={question} />,
                },
                { title: "Yes shares", isNumber: true, cell: ({ yes }) => shares(yes) },
                { title: "No shares", isNumber: true, cell: ({ no }) => shares(no) },
                { title: "Cost", isNumber: true, cell: ({ cost }) => <Usd of={cost} /> },
                {
                  title: "Price of Yes, or outcome",
                  cell: ({ outcome, yesPrice }) =>
                    outcome === null ? percent(yesPrice) : <strong>{outcomeWords(outcome)}</strong>,
                },
                { title: "Sells for, or paid", isNumber: true, cell: ({ worth }) => <Usd of={worth} /> },
                { title: "Result", isNumber: true, cell: (each) => <Result of={resultOf([each])} /> },
              ]}
            />
            {more > 0 && <p class="soft">And {count(more)} more markets.</p>}
            <p>
              Result: <Result of={resultOf(holdings.filter(({ outcome }) => outcome === null))} /> if all shares were
              sold now, <Result of={resultOf(holdings.filter(({ outcome }) => outcome !== null))} /> from the last
              settled positions.
            </p>
            <Terminal line={pmctlAbout(tenant, id, "user", "portfolio")} />
          </>
        );
      }}
    </Section>
  );
}

/** Open markets first, then the last settled ones; both sides of a market are one row. */
function holdingsOf({ positions, settlements }: Portfolio): Holding[] {
  const held = [
    ...positions.map(({ sellValue, sellPnl, currentPrice, ...position }) => ({
      ...position,
      ...{ outcome: null, yesPrice: position.side === "yes" ? currentPrice : 1 - currentPrice },
      ...{ cost: sumOf(sellValue, -sellPnl), worth: sellValue },
    })),
    ...settlements.map(({ payout, ...settled }) => ({ ...settled, yesPrice: 0, worth: payout })),
  ];
  const byMarket = new Map<string, Holding>();
  for (const { marketId, question, outcome, yesPrice, side, shares: amount, cost, worth } of held) {
    const row = byMarket.get(marketId) ?? {
      ...{ marketId, question, outcome, yesPrice },
      ...{ yes: 0, no: 0, cost: 0, worth: 0 },
    };
    row[side] = sumOf(row[side], amount);
    row.cost = sumOf(row.cost, cost);
    row.worth = sumOf(row.worth, worth);
    byMarket.set(marketId, row);
  }
  return [...byMarket.values()];
}

const resultOf = (holdings: readonly Holding[]): number =>
  sumOf(...holdings.flatMap(({ worth, cost }) => [worth, -cost]));

const shares = (amount: number): string => (amount === 0 ? "—" : count(amount));

/** Gains with their sign. */
function Result({ of }: { of: number }) {
  const cents = Math.round(of * 100) / 100;
  return (
    <span class={cents < 0 ? "bad usd" : cents > 0 ? "good usd" : "usd"}>
      {cents > 0 ? `+${usd(cents)}` : usd(cents)}
    </span>
  );
}
