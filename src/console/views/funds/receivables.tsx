import type { Api, WireResult } from "../../../contract/operations.ts";
import { useLive } from "../../live/use-live.ts";
import { TraderLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";

type User = WireResult<"getUser">;

/** The newest entries that are searched for traders who came to owe, and the most traders who are read. */
const ENTRIES = 200;
const TRADERS = 25;

/** Traders who owe, most first. The API has no list of them, so they are found by the debits that left a debt. */
export function Receivables({ owedUsd }: { owedUsd: number }) {
  const live = useLive(readDebtors, String(owedUsd));
  return (
    <Section title="Receivables" live={live}>
      {(debtors) => (
        <>
          <Table
            name="Receivables"
            rows={debtors}
            id={({ userId }) => userId}
            empty={
              owedUsd === 0
                ? "No trader owes anything. There is nothing to do."
                : "No trader of the latest debits owes anything. Look for corrected markets in the record."
            }
            columns={[
              { title: "Trader", cell: ({ userId }) => <TraderLink id={userId} /> },
              { title: "Owes", isNumber: true, cell: (user) => <Usd of={user.owedUsd} /> },
              { title: "Balance", isNumber: true, cell: ({ balanceUsd }) => <Usd of={balanceUsd} /> },
              { title: "Standing", cell: ({ state }) => state },
            ]}
          />
          <Rest of={Math.round((owedUsd - debtors.reduce((sum, user) => sum + user.owedUsd, 0)) * 1e6) / 1e6} />
        </>
      )}
    </Section>
  );
}

function Rest({ of }: { of: number }) {
  if (of <= 0) return null;
  return (
    <p class="soft">
      Others owe <Usd of={of} />, since older debits or corrections of settlements. The next payment of a trader repays
      the debt first.
    </p>
  );
}

async function readDebtors(api: Api): Promise<User[]> {
  const { entries } = await api.listAudit({ type: "wallet.debited", limit: ENTRIES });
  const left = entries.filter(({ payload }) => Number(payload.receivable) > 0);
  const ids = [...new Set(left.map(({ payload }) => String(payload.userId)))].slice(0, TRADERS);
  const users = await Promise.all(ids.map((id) => api.getUser({ id })));
  return users.filter(({ owedUsd }) => owedUsd > 0).toSorted((a, b) => b.owedUsd - a.owedUsd);
}
