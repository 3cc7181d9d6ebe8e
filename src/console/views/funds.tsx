import type { WireInput } from "../../contract/operations.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { useLive } from "../live/use-live.ts";
import { Download } from "../parts/download.tsx";
import { Facts } from "../parts/facts.tsx";
import { Pager } from "../parts/pager.tsx";
import { Filter, Search } from "../parts/search.tsx";
import { Table } from "../parts/table.tsx";
import { Usd } from "../parts/usd.tsx";
import { Section, View } from "../parts/view.tsx";
import { option, pmctl } from "../terminal-line.ts";
import { CONFLICTS, DEPOSITS, Payments, REFUNDS } from "./funds/payments.tsx";
import { Receivables } from "./funds/receivables.tsx";
import { Withdrawals, waitingApprovals } from "./funds/withdrawals.tsx";

const PATH = "/funds";
const ROWS = 50;
const PENDING = "pending";
const STATUSES = [
  [PENDING, "Pending"],
  ["approved", "Approved"],
  ["rejected", "Rejected"],
  ["all", "All"],
] as const;
const PERIODS = [
  ["30", "30 days"],
  ["1", "Today"],
  ["7", "7 days"],
  ["90", "90 days"],
  ["365", "365 days"],
] as const;

/** Money on its way in and out: withdrawals with their decisions, deposits, refunds, debts, and the sums by provider. */
export function FundsView({ query: given }: ViewProps) {
  const { tenant } = useDesk().session;
  const query = new URLSearchParams({ status: PENDING, ...Object.fromEntries(given) });
  const stated = query.get("status") ?? PENDING;
  const status = (stated === "all" ? undefined : stated) as WireInput<"listWithdrawals">["status"];
  const [cursor, userId] = ["cursor", "user"].map((name) => query.get(name) || undefined);
  const live = useLive(async (api) => {
    const [{ items, nextCursor }, proposals] = await Promise.all([
      api.listWithdrawals({ status, userId, cursor, limit: ROWS }),
      waitingApprovals(api),
    ]);
    return { items, nextCursor, proposals };
  }, query.toString());
  const at = { path: PATH, query };
  return (
    <View
      name="Funds"
      live={live}
      line={pmctl(tenant, "funding", "list", ...option("status", status), ...option("user", userId))}
      tools={
        <>
          <Filter {...at} label="Withdrawals" name="status" options={STATUSES} />
          <Search {...at} label="Trader" name="user" />
        </>
      }
    >
      {({ items, nextCursor, proposals }) => (
        <>
          <Withdrawals rows={items} proposals={proposals} empty={emptyOf(stated)} />
          <Pager {...at} nextCursor={nextCursor} />
          {items.length > 0 && (
            <Download
              file="withdrawals"
              columns={["withdrawalId", "userId", "amount", "status", "createdAt"]}
              read={(api, page) => api.listWithdrawals({ status, userId, ...page })}
            />
          )}
          <Sums {...at} />
          {[DEPOSITS, REFUNDS, CONFLICTS].map((each) => (
            <Payments key={each.type} of={each} />
          ))}
        </>
      )}
    </View>
  );
}

function emptyOf(status: string): string {
  if (status === PENDING) return "No withdrawal waits for a decision. Choose All to see those that were decided.";
  return "No withdrawal is like this. Choose another status.";
}

/** What came in and went out within a period, by provider, and what traders owe. */
function Sums(at: { path: string; query: URLSearchParams }) {
  const { query } = at;
  const periodDays = Number(query.get("days") || 30);
  const live = useLive((api) => api.getFundingReport({ periodDays }), String(periodDays));
  return (
    <>
      <Section title="In and out" live={live}>
        {({ inflows, outflows, netMovement, pendingWithdrawals, owedUsd, byProvider }) => (
          <>
            <div class="tools">
              <Filter {...at} label="Period" name="days" options={PERIODS} />
            </div>
            <Facts
              of={[
                ["In", <Usd key="in" of={inflows} />],
                ["Out", <Usd key="out" of={outflows} />],
                ["Net", <Usd key="net" of={netMovement} />],
                ["Pending withdrawals", <Usd key="pending" of={pendingWithdrawals} />],
                ["Owed by traders", <Usd key="owed" of={owedUsd} />],
              ]}
            />
            <Table
              name="Providers"
              rows={byProvider}
              id={({ provider }) => provider}
              empty="No money moved within the period. Choose a longer one."
              columns={[
                { title: "Provider", cell: ({ provider }) => <bdi>{provider}</bdi> },
                { title: "In", isNumber: true, cell: (each) => <Usd of={each.inflows} /> },
                { title: "Out", isNumber: true, cell: (each) => <Usd of={each.outflows} /> },
              ]}
            />
          </>
        )}
      </Section>
      <Receivables />
    </>
  );
}
