import { useLive } from "../../live/use-live.ts";
import { TraderLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";
import { LEAST_DEBT_USD, Standing } from "../traders.tsx";

const ROWS = 50;

/** Traders who owe. The next payment of a trader repays the debt first. */
export function Receivables() {
  const live = useLive((api) => api.listUsers({ minOwedUsd: LEAST_DEBT_USD, limit: ROWS }), "");
  return (
    <Section title="Receivables" live={live}>
      {({ items, nextCursor }) => (
        <>
          <Table
            name="Receivables"
            rows={items.toSorted((a, b) => b.owedUsd - a.owedUsd)}
            id={({ userId }) => userId}
            empty="No trader owes anything. There is nothing to do."
            columns={[
              { title: "Trader", cell: ({ userId }) => <TraderLink id={userId} /> },
              { title: "Owes", isNumber: true, cell: (user) => <Usd of={user.owedUsd} /> },
              { title: "Balance", isNumber: true, cell: ({ balanceUsd }) => <Usd of={balanceUsd} /> },
              { title: "Standing", cell: ({ state }) => <Standing of={state} /> },
            ]}
          />
          {nextCursor !== null && <a href={addressOf("/traders", { owing: "yes" })}>All traders who owe</a>}
        </>
      )}
    </Section>
  );
}
