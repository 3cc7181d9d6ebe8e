import type { WireResult } from "../../../contract/operations.ts";
import { sumOf } from "../../../domain/money.ts";
import { useDesk } from "../../desk.ts";
import { outcomeWords } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { Download } from "../../parts/download.tsx";
import { EntryLink, MarketLink } from "../../parts/links.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";
import { pmctlAbout } from "../../terminal-line.ts";

type Entry = WireResult<"listUserStatement">["items"][number];

const ROWS = 25;
const COLUMNS = [
  ...["seq", "ts", "type", "amount", "owed", "balance", "marketId", "question"],
  ...["tradeId", "withdrawalId", "reference", "from", "outcome", "reason"],
];

/** Every change of a trader's wallet and debt, newest first. */
export function Statement({ id, query }: { id: string; query: URLSearchParams }) {
  const { tenant } = useDesk().session;
  const cursor = query.get("cursor") ?? undefined;
  const live = useLive((api) => api.listUserStatement({ id, cursor, limit: ROWS }), `${id} ${cursor ?? ""}`);
  return (
    <Section title="Statement" live={live}>
      {({ items, nextCursor }) => (
        <>
          <Table
            name="Statement"
            rows={byEntry(items)}
            id={({ seq }) => String(seq)}
            kind={({ type }) => type}
            empty="Nothing went into the wallet or out of it."
            columns={[
              { title: "Entry", cell: ({ seq }) => <EntryLink seq={seq} /> },
              { title: "When", cell: ({ ts }) => <Time at={ts} /> },
              { title: "What", cell: ({ type }) => type },
              { title: "Of", cell: (entry) => <Subject of={entry} /> },
              { title: "Amount", isNumber: true, cell: ({ amount }) => <Usd of={amount} /> },
              { title: "Debt", isNumber: true, cell: ({ owed = null }) => <Usd of={owed} /> },
              { title: "Balance", isNumber: true, cell: ({ balance }) => <Usd of={balance} /> },
            ]}
          />
          <Pager path={`/traders/${encodeURIComponent(id)}`} query={query} nextCursor={nextCursor} />
          {items.length > 0 && (
            <Download file="statement" columns={COLUMNS} read={(api, page) => api.listUserStatement({ id, ...page })} />
          )}
          <p class="soft">
            <a href={addressOf("/record", { user: id })}>Entries that name the trader</a>. The end of a market names no
            trader: what it moved is only in this statement.
          </p>
          <Terminal line={pmctlAbout(tenant, id, "user", "statement")} />
        </>
      )}
    </Section>
  );
}

/** One row for each entry: a payment may repay a debt and fill the wallet, each with a line of its own. */
function byEntry(lines: readonly Entry[]): Entry[] {
  const rows = new Map<number, Entry>();
  for (const line of lines) {
    const { seq, amount, owed } = line;
    const row = rows.get(seq) ?? { ...line, amount: 0 };
    rows.set(seq, { ...row, amount: sumOf(row.amount, amount), ...(owed !== undefined && { owed }) });
  }
  return [...rows.values()];
}

/** What a line is about: a market with its end, a withdrawal, or a provider's reference. */
function Subject({ of: { marketId, question, withdrawalId, reference, from, outcome, reason } }: { of: Entry }) {
  if (marketId === undefined) return <bdi>{withdrawalId ?? reference ?? "—"}</bdi>;
  const end = outcome && (from ? `from ${outcomeWords(from)} to ${outcomeWords(outcome)}` : outcomeWords(outcome));
  return (
    <>
      <MarketLink id={marketId} question={question} />
      {end && `: ${end}`}
      {reason && (
        <>
          {" "}
          <bdi>({reason})</bdi>
        </>
      )}
    </>
  );
}
