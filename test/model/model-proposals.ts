import { anyId, Between } from "./match.ts";
import { type End, onRecord } from "./model-ends.ts";
import { microOf } from "./model-numbers.ts";
import { loosens } from "./model-policy.ts";
import {
  type ExpectedEntry,
  type Moment,
  marketOf,
  type Outcome,
  type Policy,
  type Request,
  type Rule,
  refuse,
  type State,
  statusesOf,
} from "./model-state.ts";

/** How long a change waits, and how many actors it needs. */
export interface Terms {
  holdHours: number;
  approvals: number;
}

interface MoneyRule {
  aboveUsd: number;
  approvals: number;
}

/** What the tenant wants before some changes, and which ends of markets by their category. */
export interface Rules {
  categories: Record<string, Partial<Terms>>;
  withdraw: MoneyRule;
  credit: MoneyRule;
  key: { approvals: number };
  loosen: { approvals: number };
}

/** A change that waits for others, for its time, or for both. */
export interface Proposal {
  id: string;
  kind: "settle" | "void" | "correct" | "withdraw" | "credit" | "key" | "loosen";
  status: "pending" | "executed" | "rejected";
  /** A market, a withdrawal, or nothing that another proposal could be about. */
  subject: string | null;
  marketId: string | null;
  outcome: End | null;
  reason: string | null;
  request: Pick<Request, "operation" | "params" | "body">;
  proposedBy: string;
  proposedAt: string;
  finalAt: string;
  approvalsNeeded: number;
  approvals: { by: string; at: string }[];
  objectors: string[];
  decidedBy: string | null;
  decidedAt: string | null;
  result: unknown;
}

type About = Pick<Proposal, "kind" | "subject" | "marketId" | "outcome" | "reason"> & { terms: Terms };

const AT_ONCE: Terms = { holdHours: 0, approvals: 1 };

function aboutMarket(
  state: State,
  { kind, id, outcome, reason }: { kind: Proposal["kind"]; id: unknown; outcome: unknown; reason: unknown },
): About | undefined {
  const market = marketOf(state, id);
  if (!market) return undefined;
  const terms = { ...AT_ONCE, ...state.rules?.categories[market.category] };
  const [marketId, said] = [market.id, typeof reason === "string" ? reason : null];
  return { kind, subject: `market:${marketId}`, marketId, outcome: outcome as End, reason: said, terms };
}

const aboveLimit = (rule: MoneyRule | undefined, amount: bigint): Terms =>
  rule && amount > (microOf(rule.aboveUsd) ?? 0n) ? { ...AT_ONCE, approvals: rule.approvals } : AT_ONCE;

/** A new value of a key always waits, whatever it may do. */
function aboutKey(state: State, name: unknown): About {
  const terms = { ...AT_ONCE, ...state.rules?.key };
  return { kind: "key", subject: `key:${name}`, marketId: null, outcome: null, reason: null, terms };
}

/** What a request would be a proposal about, by its operation. */
const ABOUT: Record<string, (state: State, request: Request) => About | undefined> = {
  settleMarket: (state, { body }) =>
    aboutMarket(state, { kind: "settle", id: body.marketId, outcome: body.outcome, reason: null }),
  voidMarket: (state, { params, body }) =>
    aboutMarket(state, { kind: "void", id: params.id, outcome: "void", reason: body.reason }),
  correctMarket: (state, { params, body }) =>
    aboutMarket(state, { kind: "correct", id: params.id, outcome: body.outcome, reason: body.reason }),
  approveWithdrawal(state, { params }) {
    const withdrawal = state.withdrawals.find(({ id, status }) => id === params.id && status === "pending");
    if (!withdrawal) return undefined;
    const terms = aboveLimit(state.rules?.withdraw, withdrawal.amount);
    const subject = `withdrawal:${withdrawal.id}`;
    return { kind: "withdraw", subject, marketId: null, outcome: null, reason: null, terms };
  },
  creditWallet(state, { body }) {
    const terms = aboveLimit(state.rules?.credit, microOf(Number(body.amount)) ?? 0n);
    return { kind: "credit", subject: null, marketId: null, outcome: null, reason: String(body.reason), terms };
  },
  createKey: (state, { body }) => aboutKey(state, body.name),
  rotateKey: (state, { params }) => aboutKey(state, params.name),
  updatePolicy(state, { body }) {
    const terms = loosens(state.policy, body as Partial<Policy>) ? { ...AT_ONCE, ...state.rules?.loosen } : AT_ONCE;
    return { kind: "loosen", subject: "policy", marketId: null, outcome: null, reason: null, terms };
  },
};

/** The proposal about a subject that waits. */
export const waitingFor = (state: State, subject: string | null): Proposal | undefined =>
  state.proposals.find((each) => subject !== null && each.subject === subject && each.status === "pending");

/** A change that waits where the tenant wants more than its caller; it is refused as it would be at once. */
export function governed(rule: Rule): Rule {
  return (state, request) => {
    const outcomes = rule(state, request);
    if (outcomes.every((outcome) => "refused" in outcome)) return outcomes;
    const about = state.rules && ABOUT[request.operation]?.(state, request);
    if (!about) return outcomes;
    const isPending = waitingFor(state, about.subject) !== undefined;
    const isWanted = about.terms.holdHours > 0 || about.terms.approvals > 1;
    if (!isWanted && !isPending) return outcomes;
    return outcomes.flatMap((outcome) => {
      if ("refused" in outcome) return [outcome];
      return isPending ? refuse("PROPOSAL_PENDING") : [proposing(state, request, about)];
    });
  };
}

function proposing(state: State, request: Request, { terms, subject, ...about }: About): Outcome {
  const { operation, params, body, actor, during } = request;
  const { kind, marketId, reason } = about;
  const hold = terms.holdHours * 3_600_000;
  const at = new Between(during.from, during.to);
  const approvalsNeeded = terms.approvals;
  const asked = { operation, ...params, ...body };
  const answer = {
    ...{ proposalId: anyId, status: "pending", ...about, evidence: null, request: asked, approvalsNeeded },
    ...{ proposedBy: actor, proposedAt: at, finalAt: new Between(during.from + hold, during.to + hold) },
    ...{ approvals: [{ by: actor, at }], objections: 0, decidedBy: null, decidedAt: null, result: null },
  };
  const commit = (answered: Record<string, unknown>): ExpectedEntry[] => {
    const { proposedAt, finalAt, approvals } = answered as Pick<Proposal, "proposedAt" | "finalAt" | "approvals">;
    const proposal: Proposal = {
      ...{ id: String(answered.proposalId), status: "pending", subject, ...about, approvalsNeeded },
      ...{ request: { operation, params, body }, proposedBy: actor, objectors: [] },
      ...{ proposedAt, finalAt, approvals },
      ...{ decidedBy: null, decidedAt: null, result: null },
    };
    state.proposals.push(proposal);
    const said = { ...namedOf(proposal), subject: subject ?? anyId, ...(reason === null ? {} : { reason }) };
    const created = { type: "proposal.created", actor, payload: { ...said, request: asked, approvalsNeeded } };
    return [created, ...(kind === "correct" ? [] : suspending(state, marketId, request))];
  };
  return { answer, commit };
}

/** An open market whose end is proposed is suspended; around its closing time the log says whether it was open. */
function suspending(state: State, id: string | null, { actor, during }: { actor: string; during: Moment }) {
  const market = marketOf(state, id);
  const statuses = market ? statusesOf(market, during) : [];
  if (!market || !statuses.includes("open")) return [];
  const isOptional = statuses.length > 1;
  const suspend = () => {
    market.status = "suspended";
  };
  if (!isOptional) suspend();
  return [{ type: "market.suspended", actor, payload: { marketId: market.id }, isOptional, logged: suspend }];
}

/** What each entry of a proposal says of it. */
export function namedOf({ id, kind, marketId, outcome, finalAt }: Proposal) {
  const about = marketId === null ? {} : { marketId };
  return { proposalId: id, kind, ...about, ...(outcome === null ? {} : { outcome: onRecord(outcome) }), finalAt };
}

/** What operators see of a proposal. */
export function proposalView(proposal: Proposal) {
  const { id, subject: _, objectors, request, ...rest } = proposal;
  const { operation, params, body } = request;
  const asked = { operation, ...params, ...body };
  return { proposalId: id, ...rest, evidence: null, objections: objectors.length, request: asked };
}

/** What everyone sees of it. */
export function publicView(proposal: Proposal) {
  const hidden = { request: undefined, result: undefined, proposedBy: undefined, decidedBy: undefined };
  return { ...proposalView(proposal), ...hidden, approvals: proposal.approvals.length };
}

/** Ends a proposal without its work. */
export function rejecting(
  proposal: Proposal,
  { actor, reason, at }: { actor: string; reason: string; at: string | null },
): ExpectedEntry[] {
  const decide = (decidedAt: string) => Object.assign(proposal, { status: "rejected", decidedBy: actor, decidedAt });
  decide(at ?? "");
  const payload = { ...namedOf(proposal), reason };
  return [{ type: "proposal.rejected", actor, payload, logged: ({ ts }) => void decide(at ?? ts) }];
}
