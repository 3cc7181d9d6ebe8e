import { useDesk } from "../../desk.ts";
import { count } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { TraderLink } from "../../parts/links.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";
import { pmctl } from "../../terminal-line.ts";

const ROWS = 25;

/** Who holds shares of a market, the largest position first, page by page. */
export function Positions({ id, query }: { id: string; query: URLSearchParams }) {
  const { tenant } = useDesk().session;
  const cursor = query.get("cursor") ?? undefined;
  const live = useLive((api) => api.listMarketPositions({ id, cursor, limit: ROWS }), `${id} ${cursor ?? ""}`);
  return (
    <Section title="Positions" live={live}>
      {({ items, nextCursor }) => (
        <>
          <Table
            name="Positions"
            rows={items}
            id={({ userId }) => userId}
            empty="No user has a position. Traders open one with a trade."
            columns={[
              { title: "Holder", cell: ({ userId }) => <TraderLink id={userId} /> },
              { title: "Yes shares", isNumber: true, cell: ({ yesShares }) => count(yesShares) },
              { title: "Cost of Yes", isNumber: true, cell: ({ yesCost }) => <Usd of={yesCost} /> },
              { title: "No shares", isNumber: true, cell: ({ noShares }) => count(noShares) },
              { title: "Cost of No", isNumber: true, cell: ({ noCost }) => <Usd of={noCost} /> },
              { title: "Worth, or paid", isNumber: true, cell: ({ value }) => <Usd of={value} /> },
              { title: "Paid if Yes", isNumber: true, cell: ({ yesPayout }) => <Usd of={yesPayout} /> },
              { title: "Paid if No", isNumber: true, cell: ({ noPayout }) => <Usd of={noPayout} /> },
            ]}
          />
          <Pager path={`/markets/${encodeURIComponent(id)}`} query={query} nextCursor={nextCursor} />
          <Terminal line={pmctl(tenant, "market", "positions", id)} />
        </>
      )}
    </Section>
  );
}
