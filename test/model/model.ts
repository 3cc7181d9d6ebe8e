import { difference } from "./match.ts";
import { judgeApproval, judgeExecution, judgeObjection, judgeRejection, withoutValue } from "./model-approvals.ts";
import { judgeCorrection, judgeEnd } from "./model-ends.ts";
import {
  judgeCredit,
  judgeDecision,
  judgeDeposit,
  judgeKyc,
  judgeRestriction,
  judgeSuitability,
  judgeWithdrawal,
} from "./model-funding.ts";
import { judgeClarification, judgeCreation, judgeHalt } from "./model-markets.ts";
import {
  judgeKeyCreation,
  judgePolicy,
  judgeReconciliation,
  judgeRevocation,
  judgeRotation,
  usableKey,
} from "./model-policy.ts";
import { governed } from "./model-proposals.ts";
import { type Outcome, type Request, type Rule, refuse, type State, unchanged } from "./model-state.ts";
import { judgeStripe } from "./model-stripe.ts";
import { judgeTrade } from "./model-trade.ts";

/** Everything that changes something, and the quote: who may ask, and what comes of it. */
const RULES: Record<string, { auth: "admin" | "user" | "public" | "signature"; rule: Rule }> = {
  placeTrade: { auth: "user", rule: judgeTrade },
  placeOrder: { auth: "user", rule: judgeTrade },
  quoteTrade: { auth: "public", rule: judgeTrade },
  createMarket: { auth: "admin", rule: judgeCreation },
  suspendMarket: { auth: "admin", rule: judgeHalt },
  resumeMarket: { auth: "admin", rule: judgeHalt },
  clarifyMarket: { auth: "admin", rule: judgeClarification },
  settleMarket: { auth: "admin", rule: governed(judgeEnd) },
  voidMarket: { auth: "admin", rule: governed(judgeEnd) },
  correctMarket: { auth: "admin", rule: governed(judgeCorrection) },
  requestWithdrawal: { auth: "user", rule: judgeWithdrawal },
  approveWithdrawal: { auth: "admin", rule: governed(judgeDecision) },
  rejectWithdrawal: { auth: "admin", rule: judgeDecision },
  creditWallet: { auth: "admin", rule: governed(judgeCredit) },
  approveProposal: { auth: "admin", rule: judgeApproval },
  executeProposal: { auth: "admin", rule: judgeExecution },
  rejectProposal: { auth: "admin", rule: judgeRejection },
  objectToProposal: { auth: "user", rule: judgeObjection },
  submitSuitability: { auth: "user", rule: judgeSuitability },
  restrictUser: { auth: "admin", rule: judgeRestriction },
  releaseUser: { auth: "admin", rule: judgeRestriction },
  updatePolicy: { auth: "admin", rule: governed(judgePolicy) },
  createKey: { auth: "admin", rule: governed(judgeKeyCreation) },
  rotateKey: { auth: "admin", rule: governed(judgeRotation) },
  revokeKey: { auth: "admin", rule: judgeRevocation },
  reconcile: { auth: "admin", rule: judgeReconciliation },
  receivePayment: { auth: "signature", rule: judgeDeposit },
  receiveKyc: { auth: "signature", rule: judgeKyc },
  receiveStripe: { auth: "signature", rule: judgeStripe },
};

/** What may rightly come of a request: the key, then the role, then a stored answer, then the operation itself. */
export function judge(state: State, request: Request): Outcome[] {
  const { operation, key, during } = request;
  const row = RULES[operation];
  if (!row) throw new Error(`The model knows no operation ${operation}`);
  if (row.auth === "signature") return judgeAdmitted(state, request, row.rule);
  const found = usableKey(state, key ?? "", during.from - KEYS_KNOWN_WITHIN_MS);
  if (!found) return refuse("KEY_INVALID");
  const admitted =
    row.auth === "admin" && found.type !== "admin" ? refuse("FORBIDDEN") : judgeAdmitted(state, request, row.rule);
  // Another server knows of a key, or of its end, a moment later.
  const isNew = found.createdAt !== null && Date.parse(found.createdAt) > during.from - KEYS_KNOWN_WITHIN_MS;
  const isEnding = found.expiresAt !== null && Date.parse(found.expiresAt) < during.to;
  return isNew || isEnding ? [...admitted, ...refuse("KEY_INVALID")] : admitted;
}

const KEYS_KNOWN_WITHIN_MS = 1500;

/** A stored answer goes before the operation itself. */
function judgeAdmitted(state: State, request: Request, rule: Rule): Outcome[] {
  const { idempotencyKey } = request;
  const stored = idempotencyKey === undefined ? undefined : state.answers[callerKey(state, request)];
  if (!stored) return rule(state, request);
  if (stored.request !== textOf(state, request)) {
    // What cannot be read at all is told before what the key stands for; what only the moment makes bad, such as a closing
    // time that has passed, after it.
    const fresh = rule(state, request);
    const isBad = fresh.some((outcome) => "refused" in outcome && outcome.refused === "BAD_REQUEST");
    return isBad ? [...fresh, ...refuse("IDEMPOTENCY_MISMATCH")] : refuse("IDEMPOTENCY_MISMATCH");
  }
  return unchanged(stored.answer);
}

/** What was observed: the answer, or the code of a refusal. */
export type Observed = { status: number; code: string | undefined; body: Record<string, unknown> };

/**
 * The outcome that an observation agrees with, or why there is none.
 */
export function accepted(outcomes: readonly Outcome[], observed: Observed): Outcome | string {
  const complaints = outcomes.map((outcome) => {
    if ("refused" in outcome)
      return observed.code === outcome.refused && observed.status === outcome.status
        ? undefined
        : `expected ${outcome.status} ${outcome.refused}, got ${describe(observed)}`;
    if (observed.status !== 200) return `expected ${JSON.stringify(outcome.answer)}, got ${describe(observed)}`;
    return difference(outcome.answer, observed.body);
  });
  return outcomes[complaints.indexOf(undefined)] ?? complaints.join("\n  or ");
}

const describe = ({ status, code, body }: Observed) => `${status} ${code ?? ""} ${JSON.stringify(body)}`;

/** Keeps the first answer to a change under its key. A key's value is never kept. */
export function remember(state: State, request: Request, answer: Record<string, unknown>): void {
  // A quote changes nothing.
  if (request.idempotencyKey === undefined || request.operation === "quoteTrade") return;
  const result = withoutValue(answer.result);
  const kept = { ...(withoutValue(answer) as typeof answer), ...(result === undefined ? {} : { result }) };
  state.answers[callerKey(state, request)] ??= { request: textOf(state, request), answer: kept };
}

const isOperators = (state: State, { key }: Request) =>
  state.keys.some(({ name, type }) => name === key && type === "admin");
/** An operator's key is the operator's, and the user a part of the request; a user's key is that user's alone. */
const callerKey = (state: State, request: Request) =>
  JSON.stringify([request.key, isOperators(state, request) ? null : request.user, request.idempotencyKey]);
const textOf = (state: State, request: Request) =>
  JSON.stringify([request.operation, request.params, request.body, isOperators(state, request) ? request.user : null]);
