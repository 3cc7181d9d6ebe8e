import { NONE, proposedWork, type Subjects } from "../../../client/inbox/proposed.ts";
import { proposalWaitsFor } from "../../../client/inbox/waiting.ts";
import type { Api } from "../../../contract/operations.ts";
import { PROPOSAL_SCOPES } from "../../../domain/policy/proposal.ts";
import { wallClockMs } from "../../../domain/time/clock.ts";
import { useDesk } from "../../desk.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { option, pmctl } from "../../terminal-line.ts";
import { type Proposal, type Seen, Standing, type Told, tellProposal } from "./proposed.tsx";

/** The buttons that decide a pending proposal. @param subjects what it is about, as far as it is known */
export function Decisions({ of: proposal, subjects }: { of: Proposal; subjects?: Partial<Subjects> }) {
  const { tenant, actor } = useDesk().session;
  const { proposalId: id, kind } = proposal;
  const work = proposedWork(proposal, { ...NONE, ...subjects });
  const decision = (
    label: string,
    verb: "approve" | "reject" | "execute",
    run: (api: Api, reason: string, seen: Seen) => Promise<unknown>,
    afterwards: string,
  ): ActionOf<Told> => ({
    label,
    thing: work,
    about: { q: id },
    scope: PROPOSAL_SCOPES[kind],
    preview: async (api) => tellProposal(await api.getProposal({ id }), api),
    explain: (shown) => <Standing of={shown ?? { proposal }} />,
    run: (api, shown, _values, reason) => run(api, reason, shown?.seen ?? {}),
    line: (_values, reason) => pmctl(tenant, "proposal", verb, id, ...option("reason", reason)),
    done: (result) => {
      const { status } = result as Proposal;
      return `${afterwards}: ${work}. It is ${status}.`;
    },
  });
  const waitsFor = proposalWaitsFor(proposal, wallClockMs());
  return (
    <span class="ways">
      {waitsFor === "approval" && (
        <Action
          of={{
            ...decision("Approve", "approve", (api, _, seen) => api.approveProposal({ id, ...seen }), "Approved"),
            unfit: proposal.approvals.some(({ by }) => by === actor)
              ? "You agree already. An approver is another actor."
              : undefined,
          }}
        />
      )}
      {(waitsFor === "hand" || waitsFor === "overdue") && (
        <Action
          of={decision("Execute", "execute", (api, _, seen) => api.executeProposal({ id, ...seen }), "Executed")}
        />
      )}
      <Action of={decision("Reject", "reject", (api, reason) => api.rejectProposal({ id, reason }), "Rejected")} />
    </span>
  );
}
