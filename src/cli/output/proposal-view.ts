import { proposedWork } from "../../client/inbox/proposed.ts";
import type { WireResult } from "../../contract/operations.ts";
import { isProposal } from "../../domain/policy/proposal.ts";
import { counted } from "../../domain/text.ts";
import { plain, time } from "./cells.ts";
import type { Field } from "./table.ts";

type Proposal = WireResult<"getProposal">;

/** What a proposal still waits for, or how it was decided. */
export function standingText({ status, approvals, approvalsNeeded, objections, finalAt, decidedBy }: Proposal): string {
  if (status !== "pending") return `${status} by ${decidedBy}`;
  const objected = objections === 0 ? "" : `, ${counted(objections, "objection")}`;
  return `${approvals.length} of ${counted(approvalsNeeded, "approval")}${objected}, final at ${time(finalAt, { seconds: true })}`;
}

/** What of a proposal stands elsewhere. */
interface Told {
  work: string;
  /** What it is about, and what it would move. */
  subject: readonly Field[];
  /** Who agrees, in the order of the approvals. */
  approvers: readonly string[];
  /** What others say of it. */
  said: readonly Field[];
  /** Whether the request and the result are shown as they are on record. */
  recorded: boolean;
}

/** A proposal with what stands elsewhere, in the order of a decision: what, then who wants it, then who does not. */
export function proposalFields(proposal: Proposal, { work, subject, approvers, said, recorded }: Told): Field[] {
  const at = (instant: string) => time(instant, { seconds: true });
  const { proposalId, proposedAt, approvals, reason, evidence, request, result } = proposal;
  return [
    ["proposal", proposalId],
    ["to", work],
    ...subject,
    ["status", standingText(proposal)],
    ["proposed", `by ${approvers[0]} at ${at(proposedAt)}`],
    ["reason", reason ?? undefined],
    ["evidence", evidence === null ? undefined : plain(evidence)],
    ...approvals.slice(1).map((each, index): Field => ["approved", `by ${approvers[index + 1]} at ${at(each.at)}`]),
    ...said,
    ["request", recorded ? JSON.stringify(request) : undefined],
    ["result", recorded && result !== null ? plain(result) : undefined],
  ];
}

/** A proposal, where a change became one. */
export const proposalView = {
  kind: "record" as const,
  fields: (proposal: Proposal): Field[] => {
    const approvers = proposal.approvals.map(({ by }) => by);
    return proposalFields(proposal, { work: proposedWork(proposal), subject: [], approvers, said: [], recorded: true });
  },
};

/** A view of a proposal with what stands elsewhere. */
export interface ToldProposal {
  kind: "record";
  told: true;
  fields: () => Field[];
}

/** The view of an answer: that of a proposal, where a change became one. */
export function viewOf<View extends object>(answer: object, view: View): View {
  return isProposal(answer) && !("told" in view) ? (proposalView as unknown as View) : view;
}
