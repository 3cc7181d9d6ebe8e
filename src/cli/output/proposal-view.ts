import type { WireResult } from "../../contract/operations.ts";
import { isProposal } from "../../domain/policy/proposal.ts";
import { counted } from "../../domain/text.ts";
import { outcomeText, time } from "./cells.ts";

type Proposal = WireResult<"getProposal">;

/** Such as `settle mkt_1 as yes` or `credit usr_1 500`. */
export function workText({ kind, marketId, outcome, request }: Proposal): string {
  if (marketId !== null)
    return `${kind} ${marketId}${outcome === null || kind === "void" ? "" : ` as ${outcomeText(outcome)}`}`;
  const { id, name, amount } = request as { [field: string]: string | number | undefined };
  return [kind, id ?? name, amount].filter((part) => part !== undefined).join(" ");
}

/** What a proposal still waits for, or how it was decided. */
export function standingText({ status, approvals, approvalsNeeded, objections, finalAt, decidedBy }: Proposal): string {
  if (status !== "pending") return `${status} by ${decidedBy}`;
  const objected = objections === 0 ? "" : `, ${counted(objections, "objection")}`;
  return `${approvals.length} of ${counted(approvalsNeeded, "approval")}${objected}, final at ${time(finalAt, { seconds: true })}`;
}

/** A proposal, also where a change became one. */
export const proposalView = {
  kind: "record" as const,
  fields: (proposal: Proposal): [string, string][] => [
    ["proposal", proposal.proposalId],
    ["to", workText(proposal)],
    ["status", standingText(proposal)],
    ["proposed", `by ${proposal.proposedBy} at ${time(proposal.proposedAt, { seconds: true })}`],
    ...proposal.approvals
      .slice(1)
      .map(({ by, at }): [string, string] => ["approved", `by ${by} at ${time(at, { seconds: true })}`]),
    ...(proposal.reason === null ? [] : [["reason", proposal.reason] as [string, string]]),
    ...(proposal.evidence === null ? [] : [["evidence", textOf(proposal.evidence)] as [string, string]]),
    ["request", JSON.stringify(proposal.request)],
    ...(proposal.result === null ? [] : [["result", textOf(proposal.result)] as [string, string]]),
  ],
};

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The view of an answer: that of a proposal, where a change became one. */
export function viewOf<View>(answer: object, view: View): View {
  return isProposal(answer) ? (proposalView as View) : view;
}
