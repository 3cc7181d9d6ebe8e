import type { Api, WireResult } from "../../../contract/operations.ts";
import { isolated } from "../../../domain/text.ts";
import { useDesk } from "../../desk.ts";
import { exactUsd } from "../../format.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { TraderLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { option, pmctl } from "../../terminal-line.ts";
import { Decisions, type Proposal } from "../decisions.tsx";
import { Money } from "../traders/actions.tsx";

export type Withdrawal = WireResult<"listWithdrawals">["items"][number];

/** Withdrawals with their decisions. Where other people must agree first, the proposal that waits is decided. */
export function Withdrawals({
  rows,
  proposals,
  empty,
}: {
  rows: readonly Withdrawal[];
  proposals: readonly Proposal[];
  empty: string;
}) {
  return (
    <Table
      name="Withdrawals"
      rows={rows}
      id={({ withdrawalId }) => withdrawalId}
      kind={({ status }) => status}
      empty={empty}
      columns={[
        { title: "Trader", cell: ({ userId }) => <TraderLink id={userId} /> },
        { title: "Amount", isNumber: true, cell: ({ amount }) => <Usd of={amount} /> },
        { title: "Status", cell: ({ status }) => <span class={LOOKS[status]}>{status}</span> },
        { title: "Asked", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { title: "Withdrawal", cell: ({ withdrawalId }) => withdrawalId },
        {
          title: "Decide",
          cell: (row) => {
            const waiting = proposals.find(({ request }) => request.id === row.withdrawalId);
            if (row.status !== "pending") return "—";
            return waiting ? <Decisions of={waiting} /> : <Decide of={row} />;
          },
        },
      ]}
    />
  );
}

const LOOKS = { pending: "warn", approved: "good", rejected: "" } as const;

/** The proposals to approve a withdrawal that wait for another person. */
export async function waitingApprovals(api: Api): Promise<Proposal[]> {
  return (await api.listProposals({ kind: "withdraw", status: "pending", limit: 200 })).items;
}

function Decide({ of: { withdrawalId: id, amount, userId } }: { of: Withdrawal }) {
  const { tenant } = useDesk().session;
  const decision = (
    label: "Approve" | "Reject",
    operation: "approveWithdrawal" | "rejectWithdrawal",
    effect: string,
  ): ActionOf<WireResult<"getUser">> => ({
    label,
    thing: `${exactUsd(amount)} of ${isolated(userId)}`,
    about: { q: id },
    scope: "funds",
    preview: (api) => api.getUser({ id: userId }),
    explain: (shown) => (
      <>
        <p>{effect}</p>
        {shown && <Money of={shown} />}
      </>
    ),
    run: (api) => api[operation]({ id }),
    line: (_, reason) => pmctl(tenant, "funding", label.toLowerCase(), id, ...option("reason", reason)),
    done: (result) => {
      const { status, proposalId } = result as Withdrawal & { proposalId?: string };
      return proposalId === undefined
        ? `The withdrawal of ${exactUsd(amount)} by ${isolated(userId)} is ${status}.`
        : `Proposed as ${proposalId}: another person must approve the withdrawal.`;
    },
  });
  return (
    <span class="ways">
      <Action
        of={decision(
          "Approve",
          "approveWithdrawal",
          `${exactUsd(amount)} leave the ledger for good: pay them to ${isolated(userId)}.`,
        )}
      />
      <Action
        of={decision("Reject", "rejectWithdrawal", `${exactUsd(amount)} return to the wallet of ${isolated(userId)}.`)}
      />
    </span>
  );
}
