import { microOf, usd } from "./model-numbers.ts";
import type { Proposal } from "./model-proposals.ts";
import type { Moment, Request, State } from "./model-state.ts";
import { positionOf } from "./model-trade.ts";
import { USERS } from "./random.ts";
import type { Call, Chosen, Part, Wish } from "./steps.ts";

/** A call as it goes over the wire, and as the model judges it. */
export interface Prepared {
  method: "POST" | "PUT";
  path: string;
  /** Undefined for an operation without a body. */
  text: string | undefined;
  request: Request;
  /** The label that the answer's identifier gets. */
  label?: { name: string; field: string };
}

/** Resolves labels and parts by what the model knows now. The sender fills in `during`. */
export function prepare(state: State, call: Call, now: number): Prepared {
  const { wish, idempotencyKey } = call;
  const wired = wire(state, wish, now);
  const { user, isUsers } = userOf(wish);
  const key = call.key ?? (isUsers || wish.do === "quoteTrade" ? "web" : "ops");
  const isWebhook = wish.do.startsWith("receive");
  const text = wired.body === undefined ? undefined : JSON.stringify(wired.body);
  const during: Moment = { from: now, to: now };
  return {
    method: wish.do === "updatePolicy" ? "PUT" : "POST",
    path: wired.path,
    text,
    ...(wired.label ? { label: wired.label } : {}),
    request: {
      operation: wish.do,
      params: wired.params ?? {},
      body: (text === undefined ? {} : JSON.parse(text)) as Record<string, unknown>,
      ...(isWebhook ? { bytes: text ?? "" } : { key }),
      ...(user === undefined ? {} : { user }),
      ...("claimed" in wish && wish.claimed !== undefined ? { claimed: wish.claimed } : {}),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      actor: actorOf(state, wish, key, user),
      during,
    },
  };
}

/**
 * The same request with another body, as a caller sends it by mistake. Where no field can differ, the body has a field more.
 * The service drops one that it does not know, so that the request stays the same; only the policy refuses it.
 */
export function changed({ text, request, ...rest }: Prepared): Prepared {
  if (text === undefined) return { ...rest, text, request };
  const differing = other(request.body);
  const body = { ...request.body, ...(differing ?? { note: "changed" }) };
  const isSame = differing === undefined && request.operation !== "updatePolicy";
  return { ...rest, text: JSON.stringify(body), request: { ...request, body: isSame ? request.body : body } };
}

function other(body: Record<string, unknown>): Record<string, unknown> | undefined {
  if (typeof body.amount === "number") return { amount: body.amount > 1 ? 1 : 2 };
  if (typeof body.shares === "number") return { shares: body.shares > 1 ? 1 : 2 };
  if (typeof body.text === "string") return { text: "Another text" };
  if (typeof body.question === "string") return { question: "Another question" };
  if (typeof body.reason === "string") return { reason: "Another reason" };
  if (typeof body.outcome === "object") return { outcome: "yes" };
  if (typeof body.outcome === "string") return { outcome: body.outcome === "yes" ? "no" : "yes" };
  if (typeof body.answers === "object") return { answers: { q0: 1, q1: 1 } };
  if (typeof body.name === "string") return { name: `${body.name}-other` };
  if (typeof body.overlapSeconds === "number") return { overlapSeconds: body.overlapSeconds + 1 };
  return undefined;
}

function userOf(wish: Wish): { user?: string; isUsers: boolean } {
  const isUsers = [
    "placeTrade",
    "placeOrder",
    "quoteTrade",
    "requestWithdrawal",
    "submitSuitability",
    "objectToProposal",
  ].includes(wish.do);
  return isUsers && "user" in wish ? { user: wish.user, isUsers } : { isUsers };
}

/** The holder of an admin key acts as the operator, also where a user is named. */
function actorOf(state: State, wish: Wish, key: string, user: string | undefined): string {
  if (wish.do === "receivePayment") return "provider:payments";
  if (wish.do === "receiveStripe") return "provider:stripe";
  if (wish.do === "receiveKyc") return `provider:${String(wish.body.provider)}`;
  const isAdmin = state.keys.some(({ name, type }) => name === key && type === "admin");
  return user !== undefined && !isAdmin ? `user:${user}` : `admin:${key}`;
}

interface Wired {
  path: string;
  body?: Record<string, unknown>;
  params?: Request["params"];
  label?: Prepared["label"];
}

function wire(state: State, wish: Wish, now: number): Wired {
  const id = (label: string) => state.labels[label] ?? `none_${label}`;
  switch (wish.do) {
    case "placeTrade":
    case "placeOrder":
    case "quoteTrade": {
      const { side, shares, ...terms } = wish.terms;
      const selling = shares !== undefined ? { action: "sell" } : {};
      const selection = wish.do === "placeOrder" ? { outcome: side === "yes" ? 1 : 0 } : { side };
      const held = positionOf(state, wish.user, id(wish.market), side)?.shares ?? 0n;
      const part = shares === undefined ? {} : { shares: partOf(shares, held) };
      const path = { placeTrade: "/v1/trade", placeOrder: "/v1/orders", quoteTrade: "/v1/quote" }[wish.do];
      return { path, body: { marketId: id(wish.market), selection: { ...selection, ...selling }, ...terms, ...part } };
    }
    case "createMarket": {
      const { closeIn, ...body } = wish.body;
      const closes = closeIn === undefined ? {} : { closeAt: new Date(now + closeIn).toISOString() };
      return { path: "/v1/markets", body: { ...body, ...closes }, label: { name: wish.as, field: "id" } };
    }
    case "suspendMarket":
      return { path: `/v1/markets/${id(wish.market)}/suspend`, params: { id: id(wish.market) } };
    case "resumeMarket":
      return { path: `/v1/markets/${id(wish.market)}/resume`, params: { id: id(wish.market) } };
    case "clarifyMarket": {
      const path = `/v1/markets/${id(wish.market)}/clarifications`;
      return { path, params: { id: id(wish.market) }, body: { text: wish.text } };
    }
    case "settleMarket": {
      const { outcome, expectPayouts } = wish;
      return {
        path: "/v1/settle",
        body: { marketId: id(wish.market), outcome, ...(expectPayouts === undefined ? {} : { expectPayouts }) },
      };
    }
    case "voidMarket": {
      const { do: _, market, ...body } = wish;
      return { path: `/v1/markets/${id(market)}/void`, params: { id: id(market) }, body };
    }
    case "correctMarket": {
      const { do: _, market, ...body } = wish;
      return { path: `/v1/markets/${id(market)}/correct`, params: { id: id(market) }, body };
    }
    case "requestWithdrawal": {
      const amount = partOf(wish.amount, state.users[wish.user]?.balance ?? 0n);
      return { path: "/v1/withdrawals", body: { amount }, label: { name: wish.as, field: "withdrawalId" } };
    }
    case "approveWithdrawal":
      return { path: `/v1/withdrawals/${id(wish.withdrawal)}/approve`, params: { id: id(wish.withdrawal) } };
    case "rejectWithdrawal":
      return { path: `/v1/withdrawals/${id(wish.withdrawal)}/reject`, params: { id: id(wish.withdrawal) } };
    case "creditWallet": {
      const { user, amount, reason } = wish;
      return {
        path: `/v1/users/${user}/credit`,
        params: { id: user },
        body: { amount, ...(reason === undefined ? {} : { reason }) },
      };
    }
    case "submitSuitability":
      return { path: "/v1/suitability", body: { answers: wish.answers } };
    case "restrictUser":
      return { path: `/v1/users/${wish.user}/restrict`, params: { id: wish.user } };
    case "releaseUser":
      return { path: `/v1/users/${wish.user}/release`, params: { id: wish.user } };
    case "updatePolicy":
      return { path: "/v1/policy", body: wish.patch };
    case "createKey":
      return { path: "/v1/keys", body: { name: wish.name, type: wish.type } };
    case "rotateKey":
      return {
        path: `/v1/keys/${wish.name}/rotate`,
        params: { name: wish.name },
        body: { overlapSeconds: wish.overlapSeconds },
      };
    case "revokeKey":
      return { path: `/v1/keys/${wish.name}/revoke`, params: { name: wish.name }, body: {} };
    case "approveProposal":
    case "executeProposal":
    case "rejectProposal": {
      const { id: proposal } = chosen(state, wish.proposal);
      const path = `/v1/proposals/${proposal}/${wish.do.replace("Proposal", "")}`;
      return { path, params: { id: proposal }, ...("reason" in wish ? { body: { reason: wish.reason } } : {}) };
    }
    case "objectToProposal": {
      const market = chosen(state, wish.proposal, ({ marketId }) => marketId !== null).marketId;
      const path = `/v1/markets/${market}/proposal/objections`;
      return { path, params: { id: market }, body: { reason: wish.reason } };
    }
    case "reconcile":
      return { path: "/v1/reconcile" };
    case "receivePayment":
      return { path: `/payments/inbound/${state.tenantId}`, body: wish.body };
    case "receiveKyc":
      return { path: `/kyc/inbound/${state.tenantId}`, body: wish.body };
    case "receiveStripe":
      return { path: `/payments/stripe/${state.tenantId}`, body: wish.body };
  }
}

function chosen({ proposals }: State, { back, waits }: Chosen, wanted = (_: Proposal) => true) {
  const all = proposals.filter(wanted);
  const waiting = all.filter(({ status }) => waits && status === "pending");
  const from = waiting.length > 0 ? waiting : all;
  const { id = "none_p", marketId } = from.toReversed()[back % Math.max(from.length, 1)] ?? {};
  return { id, marketId: marketId ?? "none_m" };
}

/** The markets and users that a request may have changed. */
export function touchedBy(state: State, { request: { body, params, user, operation } }: Prepared): string[] {
  const proposal = state.proposals.find(({ id }) => id === params.id);
  const market = body.marketId ?? proposal?.marketId ?? params.id;
  const withdrawal = state.withdrawals.find(({ id }) => id === params.id);
  const settled = operation === "settleMarket" || proposal ? USERS : [];
  return [market, user, body.userId, withdrawal?.user, ...settled].filter((each) => typeof each === "string");
}

/** A number as it is; a part of what is there, so that sales and withdrawals find something. */
function partOf(wanted: number | Part, whole: bigint): number {
  if (typeof wanted === "number") return wanted;
  const part = { all: whole, half: whole / 2n, micro: 1n, more: whole + 1n }[wanted];
  // What is nothing, or more than the interface can say, becomes a request that is refused.
  const value = usd(part === 0n ? 1n : part);
  return microOf(value) === undefined ? 1 : value;
}
