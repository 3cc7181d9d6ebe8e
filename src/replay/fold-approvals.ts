import { canonicalJson } from "../domain/audit/audit-link.ts";
import { outcomeOf } from "../domain/market/outcome.ts";
import { objectionKey } from "../engine/approvals/decisions.ts";
import type { Proposal } from "../engine/approvals/rows.ts";
import type { LoggedEntry, LoggedRows } from "./logged-rows.ts";

type ProposalEntry = Extract<LoggedEntry, { type: `proposal.${string}` }>;

/** Updates a proposal to its state after an entry. */
export function applyProposal(rows: LoggedRows, entry: ProposalEntry): void {
  const { type, payload, at, actor } = entry;
  const { proposalId: id } = payload;
  if (type === "proposal.created") {
    const {
      kind,
      subject,
      marketId = null,
      outcome,
      reason = null,
      evidence,
      request,
      finalAt,
      approvalsNeeded,
    } = payload;
    rows.put("proposal", id, {
      ...{ id, kind, status: "pending", subject, marketId, reason, request: canonicalJson(request) },
      outcome: outcome === undefined ? null : outcomeOf(outcome),
      evidence: evidence === undefined ? null : canonicalJson(evidence),
      ...{ proposedBy: actor, proposedAt: at, finalAt: Date.parse(finalAt), approvalsNeeded },
      ...{ approvals: [{ by: actor, at }], objections: 0, decidedBy: null, decidedAt: null, result: null, version: 0 },
    });
    return;
  }
  const known = rows.get("proposal", id);
  if (known) rows.put("proposal", id, { ...known, ...changeBy(rows, entry, known) });
}

function changeBy(
  rows: LoggedRows,
  { type, payload, at, actor }: ProposalEntry,
  { id, approvals, objections }: Proposal,
): Partial<Proposal> {
  switch (type) {
    case "proposal.approved":
      return { approvals: [...approvals, { by: actor, at }] };
    case "proposal.objected": {
      const { userId: traderId, reason } = payload;
      rows.put("objection", objectionKey(id, traderId), { proposalId: id, traderId, reason, at });
      return { objections: objections + 1 };
    }
    case "proposal.rejected":
      return { status: "rejected", decidedBy: actor, decidedAt: at };
    case "proposal.executed":
      return { status: "executed", decidedBy: actor, decidedAt: at, result: canonicalJson(payload.result) };
    default:
      return {};
  }
}
