import { SYSTEM_ACTOR } from "../../domain/audit/actors.ts";
import { canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import type { CommandKind } from "../command.ts";
import { need } from "../command.ts";
import { Draft } from "../draft.ts";
import type { Need } from "../rows.ts";
import { namedProposal, putProposal } from "./proposals.ts";
import type { Proposal } from "./rows.ts";

/** What a proposal does, made again from its request. */
export interface Work<R = unknown> {
  /** The request from which it was made; another one is refused. */
  request: string;
  needs: Need[];
  decide: (draft: Draft, now: number) => R;
  /** What of the result stays on record: canonical JSON without secrets. */
  kept: (result: R) => Json;
  /** Whether who decides has stated what it does: anything else is refused. */
  isBound?: boolean;
}

interface Decision {
  proposalId: string;
  by: string;
}

interface WorkingDecision extends Decision {
  work: Work;
}

/** A proposal after a decision, and the result of its work if that was done. */
export interface Decided {
  proposal: Proposal;
  result?: unknown;
}

/**
 * Agrees to a proposal. The last approval executes it, unless it must still wait, users object, or it issues a key. If
 * its work is refused, the approval stays and the proposal waits.
 * @throws Fault NOT_FOUND, PROPOSAL_DECIDED, ALREADY_APPROVED, EXPECTATION_NOT_MET for what the approver stated
 */
export const approveProposal: CommandKind<WorkingDecision, Decided> = {
  needs: ({ proposalId, work }) => [need("proposal", proposalId), ...work.needs],
  ownBatch: true,
  decide(draft, { proposalId, by, work }, now) {
    const known = requireWaiting(draft, proposalId);
    if (known.approvals.some((each) => each.by === by))
      throw new Fault("ALREADY_APPROVED", "You have approved this proposal; another actor must", {
        detail: { value: by },
      });
    const proposal: Proposal = { ...known, approvals: [...known.approvals, { by, at: now }] };
    putProposal(draft, proposal);
    draft.record("proposal.approved", {
      ...namedProposal(proposal),
      approvals: proposal.approvals.length,
      approvalsNeeded: proposal.approvalsNeeded,
    });
    if (obstacleOf(proposal, now) || proposal.objections > 0 || proposal.kind === "key") return { proposal };
    try {
      return execute(draft, { proposal, by, work }, now);
    } catch (fault) {
      if (!(fault instanceof Fault) || (work.isBound && fault.code === "EXPECTATION_NOT_MET")) throw fault;
      return { proposal };
    }
  },
};

/**
 * Does what a proposal says, once enough actors agree and its time has come.
 * @throws Fault NOT_FOUND, PROPOSAL_DECIDED, HOLD_RUNNING, APPROVALS_MISSING, FORBIDDEN for another actor's key, and
 *   those of the work; then the proposal waits
 */
export const executeProposal: CommandKind<WorkingDecision, Decided> = {
  needs: ({ proposalId, work }) => [need("proposal", proposalId), ...work.needs],
  ownBatch: true,
  decide(draft, { proposalId, by, work }, now) {
    const proposal = requireWaiting(draft, proposalId);
    const obstacle = obstacleOf(proposal, now);
    if (obstacle) throw obstacle;
    if (proposal.kind === "key" && proposal.proposedBy !== by)
      throw new Fault("FORBIDDEN", "Only the actor that proposed a key may execute it, since it learns the value");
    // An objection may have come since the sweep found the proposal due.
    if (proposal.objections > 0 && by === SYSTEM_ACTOR)
      throw new Fault("APPROVALS_MISSING", "Users object to the proposal, so only a person executes it");
    return execute(draft, { proposal, by, work }, now);
  },
};

/** Ends a proposal without its work. @throws Fault NOT_FOUND, PROPOSAL_DECIDED */
export const rejectProposal: CommandKind<Decision & { reason: string }, Decided> = {
  needs: ({ proposalId }) => [need("proposal", proposalId)],
  ownBatch: true,
  decide(draft, { proposalId, by, reason }, now) {
    return { proposal: reject(draft, requireWaiting(draft, proposalId), { by, reason }, now) };
  },
};

/**
 * A user with a position objects: from then on only a person executes the proposal.
 * @throws Fault NOT_FOUND, PROPOSAL_DECIDED, POSITION_REQUIRED, ALREADY_OBJECTED
 */
export const objectToProposal: CommandKind<
  { proposalId: string; marketId: string; traderId: string; reason: string },
  Decided
> = {
  needs: ({ proposalId, marketId, traderId }) => [
    need("proposal", proposalId),
    need("stake", stakeKey(marketId, traderId)),
    need("objection", objectionKey(proposalId, traderId)),
  ],
  ownBatch: true,
  decide(draft, { proposalId, marketId, traderId, reason }, now) {
    const known = requireWaiting(draft, proposalId);
    invariant(known.marketId === marketId, "the proposal is about the market whose positions were loaded");
    if (!draft.get("stake", stakeKey(marketId, traderId))?.isHeld)
      throw new Fault("POSITION_REQUIRED", "Only users with a position in the market may object");
    if (draft.get("objection", objectionKey(proposalId, traderId)))
      throw new Fault("ALREADY_OBJECTED", "You have objected to this proposal");
    const proposal: Proposal = { ...known, objections: known.objections + 1 };
    putProposal(draft, proposal);
    draft.put("objection", objectionKey(proposalId, traderId), { proposalId, traderId, reason, at: now });
    draft.record("proposal.objected", {
      ...namedProposal(proposal),
      userId: traderId,
      reason,
      objections: proposal.objections,
    });
    return { proposal };
  },
};

export const stakeKey = (marketId: string, traderId: string) => `${marketId}\n${traderId}`;
export const objectionKey = (proposalId: string, traderId: string) => `${proposalId}\n${traderId}`;

/** Ends a proposal without its work. */
export function reject(
  draft: Draft,
  known: Proposal,
  { by, reason }: { by: string; reason: string },
  now: number,
): Proposal {
  const proposal: Proposal = { ...known, status: "rejected", decidedBy: by, decidedAt: now };
  putProposal(draft, proposal);
  draft.record("proposal.rejected", { ...namedProposal(proposal), reason });
  return proposal;
}

/** @throws Fault NOT_FOUND, PROPOSAL_DECIDED */
function requireWaiting(draft: Draft, proposalId: string): Proposal {
  const proposal = draft.get("proposal", proposalId);
  if (!proposal) throw new Fault("NOT_FOUND", "Proposal not found");
  if (proposal.status !== "pending")
    throw new Fault("PROPOSAL_DECIDED", `The proposal is ${proposal.status} already`, {
      detail: { value: proposal.status },
    });
  return proposal;
}

/** What stands between a proposal and its execution; undefined for nothing. */
function obstacleOf({ finalAt, approvals, approvalsNeeded }: Proposal, now: number): Fault | undefined {
  if (now < finalAt) {
    const until = new Date(finalAt).toISOString();
    return new Fault("HOLD_RUNNING", `The proposal must wait until ${until}`, { detail: { limit: until } });
  }
  if (approvals.length >= approvalsNeeded) return undefined;
  const [value, limit] = [approvals.length, approvalsNeeded];
  return new Fault("APPROVALS_MISSING", `The proposal has ${value} of ${limit} approvals`, {
    detail: { limit, value },
  });
}

function execute(
  draft: Draft,
  { proposal, by, work }: { proposal: Proposal; by: string; work: Work },
  now: number,
): Decided {
  invariant(work.request === proposal.request, "a proposal executes its own request");
  // Once executed, a proposal is no obstacle to its own work.
  const trial = new Draft(draft, draft.ts);
  const kept = { ...proposal, status: "executed", decidedBy: by, decidedAt: now } as const;
  putProposal(trial, kept);
  const result = work.decide(trial, now);
  // What was done says why, as the proposal does; a void and a correction state it themselves.
  for (const entry of proposal.reason === null ? [] : trial.audit)
    entry.payload = { reason: proposal.reason, ...entry.payload };
  const said = work.kept(result);
  const executed: Proposal = { ...kept, result: canonicalJson(said) };
  putProposal(trial, executed);
  trial.record("proposal.executed", { ...namedProposal(executed), result: said });
  draft.absorb(trial);
  return { proposal: executed, result };
}
