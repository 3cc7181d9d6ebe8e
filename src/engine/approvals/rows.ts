import type { Outcome } from "../../domain/market/outcome.ts";
import type { Approval, ProposalKind, ProposalState } from "../../domain/policy/proposal.ts";
import type { Versioned } from "../market-rows.ts";

/** A command that waits until enough actors agree and its time has come. */
export interface Proposal extends Versioned {
  id: string;
  kind: ProposalKind;
  status: ProposalState;
  /** Of one subject, at most one proposal waits. */
  subject: string;
  marketId: string | null;
  outcome: Outcome | null;
  reason: string | null;
  /** What the decision rests on, canonical JSON. */
  evidence: string | null;
  /** The request from which the command is made, canonical JSON without secrets. */
  request: string;
  proposedBy: string;
  proposedAt: number;
  /** The earliest time of its execution. */
  finalAt: number;
  approvalsNeeded: number;
  /** By distinct actors, the proposer first. */
  approvals: readonly Approval[];
  /** How many users object. */
  objections: number;
  decidedBy: string | null;
  decidedAt: number | null;
  /** The result of its execution, canonical JSON without secrets. */
  result: string | null;
}

/** A user's objection to a proposal. */
export interface Objection {
  proposalId: string;
  traderId: string;
  reason: string;
  at: number;
}

/** An actor's approval of an apply, by the SHA-256 of what is applied. */
export interface PlanApproval {
  sha256: string;
  actor: string;
  at: number;
}
