import type { OperationScope } from "../access/scopes.ts";

/** What a proposal would do: end or correct a market, pay out, credit, loosen limits, or issue a key. */
export const PROPOSAL_KINDS = ["settle", "void", "correct", "withdraw", "credit", "loosen", "key"] as const;
export type ProposalKind = (typeof PROPOSAL_KINDS)[number];

/** The scope of the operation that a proposal of each kind would carry out. */
export const PROPOSAL_SCOPES: Record<ProposalKind, OperationScope> = {
  ...{ settle: "settle", void: "settle", correct: "settle" },
  ...{ withdraw: "funds", credit: "funds", loosen: "config", key: "keys" },
};

export const PROPOSAL_STATES = ["pending", "executed", "rejected"] as const;
export type ProposalState = (typeof PROPOSAL_STATES)[number];

/** Who agreed, and when in milliseconds since the epoch. */
export interface Approval {
  by: string;
  at: number;
}

/** Whether the answer of a change that may wait for others is a proposal. */
export function isProposal(answer: object): boolean {
  return "proposalId" in answer && "approvalsNeeded" in answer;
}

/** Whether the answer of a change is a proposal that waits. */
export function isPendingProposal(answer: object): boolean {
  return isProposal(answer) && "status" in answer && answer.status === "pending";
}
