import { anyId, Between } from "./match.ts";
import { decimal, microOf, ONE, smaller, usd } from "./model-numbers.ts";
import { rejecting, waitingFor } from "./model-proposals.ts";
import {
  amountOf,
  type ExpectedEntry,
  type Outcome,
  type Policy,
  type Request,
  refuse,
  type State,
  type User,
  unchanged,
  userOf,
} from "./model-state.ts";
import { tierCap } from "./model-trade.ts";

const BILLION = 1_000_000_000n * ONE;

/** The money leaves the wallet at once and waits for a decision. */
export function judgeWithdrawal(state: State, { body, user = "", actor, during }: Request): Outcome[] {
  const amount = amountOf(body.amount);
  if (amount === undefined) return refuse("BAD_REQUEST");
  const owner = state.users[user];
  if (owner?.restricted) return refuse("ACCOUNT_RESTRICTED");
  if (!owner || owner.balance < amount) return refuse("INSUFFICIENT_FUNDS");
  const answer = {
    withdrawalId: anyId,
    status: "pending",
    amount: usd(amount),
    createdAt: new Between(during.from, during.to),
  };
  const commit = (answered: Record<string, unknown>): ExpectedEntry[] => {
    const { withdrawalId: id, createdAt } = answered as { withdrawalId: string; createdAt: string };
    owner.balance -= amount;
    state.withdrawals.push({ id, user, amount, status: "pending", createdAt });
    return [moved(state, { type: "withdrawal.requested", user, amount: -amount, about: { withdrawalId: id } }, actor)];
  };
  return [{ answer, commit }];
}

/** Approving sends the money out, rejecting gives it back, and ends a proposal to send it. The same again changes nothing. */
export function judgeDecision(state: State, { operation, params, actor }: Request): Outcome[] {
  const withdrawal = state.withdrawals.find(({ id }) => id === params.id);
  if (!withdrawal) return refuse("NOT_FOUND");
  const { id, user, amount } = withdrawal;
  const status = operation === "approveWithdrawal" ? "approved" : "rejected";
  const answer = { withdrawalId: id, userId: user, status, amount: usd(amount), createdAt: withdrawal.createdAt };
  if (withdrawal.status === status) return unchanged(answer);
  if (withdrawal.status !== "pending") return refuse("WITHDRAWAL_DECIDED");
  const commit = (): ExpectedEntry[] => {
    withdrawal.status = status;
    const type = `withdrawal.${status}`;
    const payload = { withdrawalId: id, userId: user, amount: decimal(amount) };
    if (status === "approved") {
      state.flows.push({ provider: "withdrawals", amount: -amount });
      return [{ type, actor, payload }];
    }
    const owner = state.users[user];
    if (owner) owner.balance += amount;
    const waiting = waitingFor(state, `withdrawal:${id}`);
    const reason = "The withdrawal was rejected";
    return [
      moved(state, { type, user, amount, about: { withdrawalId: id } }, actor),
      ...(waiting ? rejecting(waiting, { actor, reason, at: null }) : []),
    ];
  };
  return [{ answer, commit }];
}

/** An operator's credit says who and why. */
export function judgeCredit(state: State, { body, params, actor, during }: Request): Outcome[] {
  const { id = "" } = params;
  const amount = amountOf(body.amount, BILLION);
  if (amount === undefined || typeof body.reason !== "string" || body.reason.trim() === "")
    return refuse("BAD_REQUEST");
  if (amount > (microOf(state.policy.maxCreditUsd) ?? 0n)) return refuse("MAX_CREDIT_EXCEEDED");
  const balance = (state.users[id]?.balance ?? 0n) + amount;
  const answer = { userId: id, amount: usd(amount), balanceUsd: usd(balance), ts: new Between(during.from, during.to) };
  const commit = (): ExpectedEntry[] => {
    userOf(state, id, during).balance += amount;
    state.flows.push({ provider: "operator", amount });
    return [
      moved(
        state,
        { type: "wallet.credited", user: id, amount, about: {}, extra: { creditId: anyId, provider: "operator" } },
        actor,
      ),
    ];
  };
  return [{ answer, commit }];
}

interface Move {
  type: string;
  user: string;
  /** Positive into the wallet. */
  amount: bigint;
  about: { withdrawalId?: string; reference?: string };
  extra?: Record<string, unknown>;
  /** What the entry names, where that is not what moved in the wallet. */
  named?: bigint;
}

/** An entry about a user's money, and its line of the statement. */
export function moved(state: State, { type, user, amount, about, extra, named }: Move, actor: string): ExpectedEntry {
  const { reference, ...rest } = about;
  const stated = named ?? (amount < 0n ? -amount : amount);
  const payload = {
    userId: user,
    amount: decimal(stated),
    ...rest,
    ...(reference ? { txRef: reference } : {}),
    ...extra,
  };
  return {
    type,
    actor,
    payload,
    logged: ({ seq, ts }) => {
      const wallet = amount === 0n ? [] : [{ user, seq, ts, type, amount, about }];
      // What a payment repays goes before the rest of it, what a refund leaves owed after what it took.
      const owed = type === "wallet.debited" ? stated + amount : type === "wallet.credited" ? amount - stated : 0n;
      const debt = owed === 0n ? [] : [{ user, seq, ts, type, amount: 0n, owed, about }];
      state.movements.push(...(owed < 0n ? [...debt, ...wallet] : [...wallet, ...debt]));
    },
  };
}

/** Money from a provider pays what the user owes first. */
export function credited(user: User, amount: bigint): bigint {
  const settled = smaller(user.owed, amount);
  user.owed -= settled;
  user.balance += amount - settled;
  return amount - settled;
}

const received = { received: true };

/** Credited once per reference for ever; the same reference with another amount or user is a conflict on record. */
export function judgeDeposit(state: State, { body, bytes = "", actor, during }: Request): Outcome[] {
  if (body.event !== "deposit.completed") return unchanged(received);
  const amount = amountOf(body.amountUsd, BILLION);
  const { userId, txRef } = body;
  if (amount === undefined || amount < 10_000n || typeof userId !== "string" || typeof txRef !== "string")
    return refuse("BAD_REQUEST");
  const commit = (): ExpectedEntry[] => {
    if (isRepeated(state, `payments ${bytes}`)) return [];
    const known = state.deposits[txRef];
    if (known?.user === userId && known.amount === amount) return [];
    if (known) return [{ type: "payment.conflict", actor, payload: { userId, txRef, amount: decimal(amount) } }];
    state.deposits[txRef] = { user: userId, amount };
    state.flows.push({ provider: "payments", amount });
    const reached = credited(userOf(state, userId, during), amount);
    const about = { reference: txRef };
    return [moved(state, { type: "wallet.credited", user: userId, amount: reached, named: amount, about }, actor)];
  };
  return [{ answer: received, commit }];
}

/** The same bytes are one delivery. */
export function isRepeated(state: State, delivery: string): boolean {
  const repeated = state.deliveries.includes(delivery);
  if (!repeated) state.deliveries.push(delivery);
  return repeated;
}

/** A result counts when it was verified later than the one before, and a failure also up to five minutes before a pass.
 * A pass that was verified as shortly before a failure is on record alone. */
export function judgeKyc(state: State, { body, bytes = "", actor, during }: Request): Outcome[] {
  const { userId, status = "", verifiedAt, jurisdiction } = body as Record<string, string>;
  const at = Date.parse(verifiedAt ?? "");
  if (Number.isNaN(at) || userId === undefined) return refuse("BAD_REQUEST");
  const commit = (): ExpectedEntry[] => {
    if (isRepeated(state, `kyc ${bytes}`)) return [];
    const isKnown = status === "passed" || status === "failed";
    const knownAt = state.users[userId]?.kycAt ?? Number.NEGATIVE_INFINITY;
    const before = state.users[userId]?.kyc ?? "unverified";
    const isConflict = status === "failed" && before === "verified" && at < knownAt && at >= knownAt - 300_000;
    const isTooLate = status === "passed" && before === "rejected" && at < knownAt && at >= knownAt - 300_000;
    if (isKnown && at <= knownAt && !isConflict && !isTooLate) return [];
    const user = userOf(state, userId, during);
    const entry = (type: string, of: string, time: number): ExpectedEntry => {
      return { type, actor, payload: { userId, status: of, verifiedAt: new Date(time).toISOString() } };
    };
    if (isTooLate) return [entry("kyc.unrecognised", status, at)];
    if (!isKnown) {
      const seen = entry("kyc.unrecognised", status, at);
      if (!state.policy.kycReview || at <= knownAt || before === "rejected") return [seen];
      user.kyc = "review";
      user.kycAt = at;
      return [seen, entry("kyc.updated", "review", at)];
    }
    user.kyc = status === "passed" ? "verified" : "rejected";
    user.kycAt = Math.max(at, knownAt);
    user.jurisdiction = jurisdiction?.toUpperCase() ?? user.jurisdiction;
    return [entry("kyc.updated", status, user.kycAt)];
  };
  return [{ answer: received, commit }];
}

/** One to five answers of 0 to 4; each submission is kept, the last one counts. */
export function judgeSuitability(state: State, { body, user = "", actor, during }: Request): Outcome[] {
  const given = body.answers;
  if (typeof given !== "object" || given === null) return refuse("BAD_REQUEST");
  const scores = Object.values(given) as unknown[];
  const isScore = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 4;
  if (scores.length < 1 || scores.length > 5 || !scores.every(isScore)) return refuse("BAD_REQUEST");
  const score = scores.reduce<number>((total, each) => total + Number(each), 0);
  const passed = score >= state.policy.suitabilityThresholds.blockBelow;
  const commit = (): ExpectedEntry[] => {
    Object.assign(userOf(state, user, during), { score, scoredAt: during });
    return [{ type: "suitability.submitted", actor, payload: { userId: user, score, passed } }];
  };
  return [{ answer: { score, exposureCapMinor: capMinor(score, state.policy), passed }, commit }];
}

/** In cents; no cap is the largest integer that a double holds. */
export function capMinor(score: number, policy: Policy): number {
  const cap = tierCap(score, policy);
  return cap === null ? Number.MAX_SAFE_INTEGER : Number(cap / 10_000n);
}

/** A restriction hides the KYC state, and its end brings that back. */
export function judgeRestriction(state: State, { operation, params, actor, during }: Request): Outcome[] {
  const { id = "" } = params;
  const restricted = operation === "restrictUser";
  const user = state.users[id];
  if (!user && !restricted) return refuse("NOT_FOUND");
  const shown = restricted ? "restricted" : (user?.kyc ?? "unverified");
  const answer = { userId: id, state: shown };
  if (user?.restricted === restricted) return unchanged(answer);
  const commit = (): ExpectedEntry[] => {
    userOf(state, id, during).restricted = restricted;
    return [{ type: "user.restricted", actor, payload: { userId: id, restricted } }];
  };
  return [{ answer, commit }];
}
