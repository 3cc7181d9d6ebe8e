import { proposedWork } from "../../client/inbox/proposed.ts";
import { proposalWaitsFor } from "../../client/inbox/waiting.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { PROPOSAL_SCOPES } from "../../domain/policy/proposal.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { useDesk } from "../desk.ts";
import { Action, type ActionOf } from "../parts/action.tsx";
import { Facts } from "../parts/facts.tsx";
import { Time } from "../parts/time.tsx";
import { option, pmctl } from "../terminal-line.ts";
import { type Planned, PlannedChanges, readProposed } from "./configuration/planned.tsx";

export type Proposal = WireResult<"getProposal">;

interface Shown {
  proposal: Proposal;
  /** Of the policy. */
  planned: Planned | undefined;
}

/** The buttons that decide a pending proposal. */
export function Decisions({ of: proposal }: { of: Proposal }) {
  const { tenant } = useDesk().session;
  const { proposalId: id, kind } = proposal;
  const work = proposedWork(proposal);
  const decision = (
    label: string,
    verb: "approve" | "reject" | "execute",
    run: (api: Api, reason: string) => Promise<unknown>,
    afterwards: string,
  ): ActionOf<Shown> => ({
    label,
    thing: work,
    about: { q: id },
    scope: PROPOSAL_SCOPES[kind],
    preview: async (api) => {
      const shown = await api.getProposal({ id });
      return { proposal: shown, planned: await readProposed(api, shown) };
    },
    explain: ({ proposal: shown, planned } = { proposal, planned: undefined }) => (
      <>
        <Standing of={shown} />
        {planned && <PlannedChanges of={planned} empty="Nothing differs from what is live." />}
      </>
    ),
    run: (api, _shown, _values, reason) => run(api, reason),
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
        <Action of={decision("Approve", "approve", (api) => api.approveProposal({ id }), "Approved")} />
      )}
      {(waitsFor === "hand" || waitsFor === "overdue") && (
        <Action of={decision("Execute", "execute", (api) => api.executeProposal({ id }), "Executed")} />
      )}
      <Action of={decision("Reject", "reject", (api, reason) => api.rejectProposal({ id, reason }), "Rejected")} />
    </span>
  );
}

/** What a proposal would do, who agrees, and when it can take effect. */
export function Standing({ of }: { of: Proposal }) {
  const { approvals, approvalsNeeded, objections, reason, evidence, finalAt, proposedBy, proposedAt } = of;
  return (
    <>
      <p>It would {proposedWork(of)}.</p>
      <Facts
        of={[
          ["Proposed by", proposedBy],
          ["Proposed at", <Time key="at" at={proposedAt} />],
          ["Reason", reason && <bdi>{reason}</bdi>],
          [
            "Evidence",
            evidence === null ? "" : <bdi>{typeof evidence === "string" ? evidence : JSON.stringify(evidence)}</bdi>,
          ],
          ["Approvals", `${approvals.length} of ${approvalsNeeded}: ${approvals.map(({ by }) => by).join(", ")}`],
          ["Objections", String(objections)],
          ["Earliest effect", <Time key="final" at={finalAt} />],
        ]}
      />
    </>
  );
}
