import { payoutCautions } from "../../../client/payout-cautions.ts";
import type { Api, WireResult } from "../../../contract/operations.ts";
import type { Terms } from "../../../domain/policy/approvals.ts";
import { counted, isolated } from "../../../domain/text.ts";
import { useDesk } from "../../desk.ts";
import { exactUsd } from "../../format.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { TraderLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { option, pmctl } from "../../terminal-line.ts";
import { Decisions } from "../proposals/decisions.tsx";
import type { Proposal } from "../proposals/proposed.tsx";
import { Proposes, termsOfMoney } from "../proposals/proposes.tsx";
import { Cautions, Money } from "../traders/actions.tsx";

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
  const waitingFor = (row: Withdrawal): Proposal | undefined =>
    proposals.find(({ request }) => request.id === row.withdrawalId);
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
        { title: "Status", cell: (row) => <Status of={row} proposal={waitingFor(row)} /> },
        { title: "Asked", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { title: "Withdrawal", cell: ({ withdrawalId }) => <bdi>{withdrawalId}</bdi> },
        {
          title: "Decide",
          cell: (row) => {
            const waiting = waitingFor(row);
            if (row.status !== "pending") return "—";
            const subjects = { withdrawals: new Map([[row.withdrawalId, row]]) };
            return waiting ? <Decisions of={waiting} subjects={subjects} /> : <Decide of={row} />;
          },
        },
      ]}
    />
  );
}

const NO_TERMS: Terms = { holdHours: 0, approvals: 1 };
const LOOKS = { pending: "warn", approved: "good", rejected: "" } as const;

function Status({ of: { status }, proposal }: { of: Withdrawal; proposal: Proposal | undefined }) {
  const { approvals, approvalsNeeded } = proposal ?? { approvals: [], approvalsNeeded: 0 };
  return (
    <span class={LOOKS[status]}>
      {status}
      {proposal && `, a proposal waits: ${approvals.length} of ${counted(approvalsNeeded, "approval")}`}
    </span>
  );
}

/** The proposals to approve a withdrawal that wait for another person. */
export async function waitingApprovals(api: Api): Promise<Proposal[]> {
  return (await api.listProposals({ kind: "withdraw", status: "pending", limit: 200 })).items;
}

/** The buttons that decide a pending withdrawal. */
export function Decide({
  of: { withdrawalId: id, amount, userId },
}: {
  of: Pick<Withdrawal, "withdrawalId" | "amount" | "userId">;
}) {
  const { tenant } = useDesk().session;
  const decision = (
    label: "Approve" | "Reject",
    effect: string,
  ): ActionOf<{ user: WireResult<"getUser">; cautions: readonly string[]; terms: Terms | null }> => ({
    label,
    thing: `${exactUsd(amount)} of ${isolated(userId)}`,
    about: { q: id },
    scope: "funds",
    preview: async (api) => {
      const user = await api.getUser({ id: userId });
      // Only a payment waits for other people, and only against it something can speak.
      if (label === "Reject") return { user, cautions: [], terms: NO_TERMS };
      const [cautions, terms] = await Promise.all([payoutCautions(user, api), termsOfMoney(api, "withdraw", amount)]);
      return { user, cautions, terms };
    },
    explain: (shown) => (
      <>
        {shown && <Cautions of={shown.cautions} />}
        {shown && <Proposes terms={shown.terms} meanwhile="nothing is paid until then, so pay nothing now" />}
        <p>{effect}</p>
        {shown && <Money of={shown.user} />}
      </>
    ),
    run: (api, shown) =>
      label === "Approve"
        ? api.approveWithdrawal({ id, expectRestricted: shown && shown.user.state === "restricted" })
        : api.rejectWithdrawal({ id }),
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
        of={decision("Approve", `${exactUsd(amount)} leave the ledger for good: pay them to ${isolated(userId)}.`)}
      />
      <Action of={decision("Reject", `${exactUsd(amount)} return to the wallet of ${isolated(userId)}.`)} />
    </span>
  );
}
