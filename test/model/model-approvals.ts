import { Between } from "./match.ts";
import { isReason, judgeCorrection, judgeEnd } from "./model-ends.ts";
import { judgeCredit, judgeDecision } from "./model-funding.ts";
import { judgeKeyCreation, judgePolicy, judgeRotation } from "./model-policy.ts";
import { namedOf, type Proposal, proposalView, rejecting } from "./model-proposals.ts";
import {
  type ExpectedEntry,
  type LogEntry,
  type Moment,
  type Outcome,
  type Request,
  type Rule,
  refuse,
  SKEW_MS,
  type State,
} from "./model-state.ts";

/** What a proposal does once it is executed, by its operation. */
const WORK: Record<string, Rule> = {
  ...{ settleMarket: judgeEnd, voidMarket: judgeEnd, correctMarket: judgeCorrection },
  ...{ approveWithdrawal: judgeDecision, creditWallet: judgeCredit },
  ...{ updatePolicy: judgePolicy, createKey: judgeKeyCreation, rotateKey: judgeRotation },
};

type Decider = Pick<Request, "actor" | "during" | "idempotencyKey">;

/** What stays of a result: the value of a key is shown once. */
export const withoutValue = (result: unknown) =>
  typeof result === "object" && result !== null && "key" in result ? { ...result, key: null } : result;

/** The sweep's actor. */
export const SWEEPER = "oracle";

const areWords = (value: unknown) => isReason(value) && String(value).trim() !== "";

const known = (state: State, id: unknown) => state.proposals.find((each) => each.id === id);

/** The proposal that waits, or why none does. */
function waiting(state: State, id: unknown): Proposal | Outcome[] {
  const proposal = known(state, id);
  if (!proposal) return refuse("NOT_FOUND");
  return proposal.status === "pending" ? proposal : refuse("PROPOSAL_DECIDED");
}

/** Around the end of a hold both are right. */
function timesOf({ finalAt }: Proposal, { from, to }: Moment) {
  const at = Date.parse(finalAt);
  return { mayBeOver: to + SKEW_MS >= at, mayRun: from - SKEW_MS < at };
}

/** The proposal's own work, and then its end. */
function executing(state: State, proposal: Proposal, { actor, during, idempotencyKey }: Decider): Outcome[] {
  const work = WORK[proposal.request.operation] as Rule;
  return work(state, { ...proposal.request, actor, during, idempotencyKey }).map((outcome) => {
    if ("refused" in outcome) return outcome;
    const decided = { decidedBy: actor, decidedAt: new Between(during.from, during.to) };
    const commit = (answered: Record<string, unknown>): ExpectedEntry[] => {
      const { decidedAt, result } = answered as { decidedAt: string; result: Record<string, unknown> };
      const entries = outcome.commit(result);
      Object.assign(proposal, { status: "executed", decidedBy: actor, decidedAt, result: withoutValue(result) });
      const payload = { ...namedOf(proposal), result: withoutValue(outcome.answer) };
      return [...entries, { type: "proposal.executed", actor, payload }];
    };
    return { answer: { ...proposalView(proposal), status: "executed", ...decided, result: outcome.answer }, commit };
  });
}

/** Actors differ; the last one executes, unless time or a user's objection stands against it, or the work is refused. */
export function judgeApproval(state: State, { params, actor, during, idempotencyKey }: Request): Outcome[] {
  const proposal = waiting(state, params.id);
  if (Array.isArray(proposal)) return proposal;
  if (proposal.approvals.some(({ by }) => by === actor)) return refuse("ALREADY_APPROVED");
  const approvals = [...proposal.approvals, { by: actor, at: new Between(during.from, during.to) }];
  const { approvalsNeeded, objectors } = proposal;
  const agree = (answered: Record<string, unknown>): ExpectedEntry[] => {
    proposal.approvals = answered.approvals as Proposal["approvals"];
    const payload = { ...namedOf(proposal), approvals: approvals.length, approvalsNeeded };
    return [{ type: "proposal.approved", actor, payload }];
  };
  const waits: Outcome = { answer: { ...proposalView(proposal), approvals }, commit: agree };
  // Who proposed a key executes it, and alone learns the value.
  if (approvals.length < approvalsNeeded || objectors.length > 0 || proposal.kind === "key") return [waits];
  const executed = executing(state, proposal, { actor, during, idempotencyKey }).map((outcome): Outcome => {
    if ("refused" in outcome) return waits;
    const answer = { ...(outcome.answer as object), approvals };
    return { answer, commit: (answered) => [...agree(answered), ...outcome.commit(answered)] };
  });
  const { mayBeOver, mayRun } = timesOf(proposal, during);
  return [...(mayBeOver ? executed : []), ...(mayRun ? [waits] : [])];
}

/** By a person, also where users object. */
export function judgeExecution(state: State, { params, actor, during, idempotencyKey }: Request): Outcome[] {
  const proposal = waiting(state, params.id);
  if (Array.isArray(proposal)) return proposal;
  const isAgreed = proposal.approvals.length >= proposal.approvalsNeeded;
  const isOthersKey = proposal.kind === "key" && proposal.proposedBy !== actor;
  const agreed = isOthersKey ? refuse("FORBIDDEN") : executing(state, proposal, { actor, during, idempotencyKey });
  const then = isAgreed ? agreed : refuse("APPROVALS_MISSING");
  const { mayBeOver, mayRun } = timesOf(proposal, during);
  return [...(mayBeOver ? then : []), ...(mayRun ? refuse("HOLD_RUNNING") : [])];
}

export function judgeRejection(state: State, { params, body, actor, during }: Request): Outcome[] {
  const { reason } = body;
  if (!areWords(reason)) return refuse("BAD_REQUEST");
  const proposal = waiting(state, params.id);
  if (Array.isArray(proposal)) return proposal;
  const decided = { decidedBy: actor, decidedAt: new Between(during.from, during.to) };
  const answer = { ...proposalView(proposal), status: "rejected", ...decided };
  const commit = ({ decidedAt }: Record<string, unknown>) =>
    rejecting(proposal, { actor, reason: String(reason), at: String(decidedAt) });
  return [{ answer, commit }];
}

/** By a user with a position in the market, settled ones too, once. */
export function judgeObjection(state: State, { params, body, user = "", actor }: Request): Outcome[] {
  const { reason } = body;
  if (!areWords(reason)) return refuse("BAD_REQUEST");
  const last = state.proposals.findLast(({ marketId }) => marketId === params.id);
  if (!last) return refuse("NOT_FOUND");
  if (last.status !== "pending") return refuse("PROPOSAL_DECIDED");
  const isHolder = state.positions.some(
    ({ user: holder, marketId, shares }) => holder === user && marketId === params.id && shares > 0n,
  );
  if (!isHolder) return refuse("POSITION_REQUIRED");
  if (last.objectors.includes(user)) return refuse("ALREADY_OBJECTED");
  const objections = last.objectors.length + 1;
  const commit = (): ExpectedEntry[] => {
    last.objectors.push(user);
    const payload = { ...namedOf(last), userId: user, reason, objections };
    return [{ type: "proposal.objected", actor, payload }];
  };
  return [{ answer: { proposalId: last.id, objections }, commit }];
}

const isAgreedTo = ({ kind, status, approvals, approvalsNeeded, objectors }: Proposal) =>
  status === "pending" && kind !== "key" && approvals.length >= approvalsNeeded && objectors.length === 0;

/** Proposals that the sweep executes by a moment, which it does unless their work is refused. */
export const dueBy = (state: State, at: number): Proposal[] =>
  state.proposals.filter(
    (proposal) =>
      isAgreedTo(proposal) &&
      Date.parse(proposal.finalAt) <= at &&
      executing(state, proposal, { actor: SWEEPER, during: { from: at, to: at } }).every(
        (outcome) => !("refused" in outcome),
      ),
  );

/** The entries of an execution by the sweep, given the last of them; undefined where it was not due. */
export function sweptBy(state: State, { ts, payload }: LogEntry): ExpectedEntry[] | undefined {
  const proposal = known(state, payload.proposalId);
  const at = Date.parse(ts);
  if (!proposal || !isAgreedTo(proposal) || at < Date.parse(proposal.finalAt)) return undefined;
  const [outcome] = executing(state, proposal, { actor: SWEEPER, during: { from: at, to: at } });
  return outcome && !("refused" in outcome) ? outcome.commit({ decidedAt: ts, result: payload.result }) : undefined;
}
