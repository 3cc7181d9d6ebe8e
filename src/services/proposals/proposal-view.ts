import type { Result } from "../../contract/operations.ts";
import type { Proposal } from "../../engine/approvals/rows.ts";

type Shown = Result<"getProposal">;

/** Everything of a proposal, for operators. */
export function proposalView(proposal: Proposal): Shown {
  const { request, proposedBy, approvals, decidedBy, result } = proposal;
  return {
    ...openView(proposal),
    request: JSON.parse(request) as Shown["request"],
    proposedBy,
    approvals: approvals.map((each) => ({ ...each })),
    decidedBy,
    result: result === null ? null : (JSON.parse(result) as Shown["result"]),
  };
}

/** What everyone may see of a proposal about a market. */
export function marketProposalView(proposal: Proposal): Result<"getMarketProposal"> {
  return { ...openView(proposal), approvals: proposal.approvals.length };
}

function openView(proposal: Proposal): Omit<Result<"getMarketProposal">, "approvals"> {
  const { id: proposalId, kind, status, marketId, outcome, reason, evidence, objections } = proposal;
  const { proposedAt, finalAt, approvalsNeeded, decidedAt } = proposal;
  return {
    ...{ proposalId, kind, status, marketId, outcome, reason },
    evidence: evidence === null ? null : (JSON.parse(evidence) as Shown["evidence"]),
    ...{ proposedAt, finalAt, approvalsNeeded, objections, decidedAt },
  };
}
