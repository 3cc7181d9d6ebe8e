import { count, outcomeWords, percent, usd } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { MarketLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";
import { type Holding, type Holdings, readHoldings, TRADES } from "./holdings.ts";

const resultOf = ({ worth, cost }: Holding): number => worth - cost;

/** What a trader holds and held until settlement, with the result of each market. */
export function Positions({ id }: { id: string }) {
  const live = useLive((api) => readHoldings(api, id), id);
  return (
    <Section title="Positions" live={live}>
      {(holdings) => (
        <>
          <Table
            name="Positions"
            rows={holdings.items}
            id={({ market }) => market.id}
            kind={({ market }) => (market.outcome === null ? "open" : "settled")}
            empty="No shares of the trader's own trades. The statement shows what happened."
            columns={[
              {
                title: "Market",
                cell: ({ market: { id: marketId, question } }) => <MarketLink id={marketId} question={question} />,
              },
              { title: "Yes shares", isNumber: true, cell: ({ yes }) => shares(yes) },
              { title: "No shares", isNumber: true, cell: ({ no }) => shares(no) },
              { title: "Cost", isNumber: true, cell: ({ cost }) => <Usd of={cost} /> },
              {
                title: "Price of Yes, or outcome",
                cell: ({ market: { outcome, yesPrice } }) =>
                  outcome === null ? percent(yesPrice) : <strong>{outcomeWords(outcome)}</strong>,
              },
              { title: "Worth, or paid", isNumber: true, cell: ({ worth }) => <Usd of={worth} /> },
              { title: "Result", isNumber: true, cell: (each) => <Result of={resultOf(each)} /> },
            ]}
          />
          <Basis of={holdings} />
        </>
      )}
    </Section>
  );
}

/** The sum of the results, and what it is made from. */
function Basis({ of: { items, more, fromSales, trades, isWhole } }: { of: Holdings }) {
  const open = items.filter(({ market }) => market.outcome === null);
  const sum = (of: readonly Holding[]): number => of.reduce((total, each) => total + resultOf(each), 0);
  return (
    <>
      <p>
        Result: <Result of={sum(items) + fromSales} /> in all; <Result of={sum(open)} /> of it still open,{" "}
        <Result of={fromSales} /> from sales.
      </p>
      <p class="soft">
        {isWhole
          ? `Summed from all ${count(trades)} trades of the trader; the open positions cost what the ledger says.`
          : `Summed from the last ${count(trades)} trades that the trader made (at most ${count(TRADES)})${more > 0 ? `, without ${count(more)} further markets` : ""}. It is not the whole: older trades, and those that an operator made in the trader's name, are missing.`}{" "}
        Shares are worth their price here; selling them brings less.
      </p>
    </>
  );
}

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
