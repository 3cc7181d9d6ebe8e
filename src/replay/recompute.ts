import { receivableOf, walletOf } from "../domain/accounts.ts";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { parseDecimal } from "../domain/decimal.ts";
import { Fault } from "../domain/fault.ts";
import { MOST_CLARIFICATIONS } from "../domain/market/clarification.ts";
import { type MarketStatus, openPool, statusAt } from "../domain/market/market.ts";
import { outcomeOf } from "../domain/market/outcome.ts";
import { decodeTerms, isFulfilled } from "../domain/market/terms.ts";
import { decimalFromMicro, microFromDecimal } from "../domain/money.ts";
import { policyAt, storedPolicy } from "../domain/policy/policy.ts";
import { isPassed } from "../domain/policy/suitability.ts";
import { traderStateOf } from "../domain/trader.ts";
import { type Fill, fillBuy, fillSell } from "../engine/fill.ts";
import { policyChanges } from "../engine/policy.ts";
import { positionKey, SINGLE, type Withdrawal } from "../engine/rows.ts";
import { MAX_AHEAD_MS, newTrader } from "../engine/traders.ts";
import type { LoggedEntry, LoggedRows } from "./logged-rows.ts";
import { differing, type Problem } from "./problem.ts";
import { proposalProblems, ungovernedCredit, ungovernedPayout } from "./recompute-approvals.ts";
import { correctionProblems, settlementProblems, voidProblems } from "./recompute-ends.ts";

type PayloadOf<T extends keyof AuditPayloads> = AuditPayloads[T];

/**
 * Decides an entry again with the engine's own rules and pricing, on the rows after the previous entries. It reads only
 * the log, so a row that was changed for one command and then restored shows up here.
 * @param rows the rows after the previous entry; they are not changed
 * @returns nothing if the engine would have decided the same
 */
export function recompute(rows: LoggedRows, entry: LoggedEntry): Problem[] {
  const { type, payload, at } = entry;
  switch (type) {
    case "trade.executed":
      return tradeProblems(rows, payload, at);
    case "market.created":
      return marketProblems(rows, payload, at);
    case "market.suspended":
      return statusProblems(rows, payload.marketId, { at, was: ["open"], what: "suspended a market that is" });
    case "market.resumed":
      return statusProblems(rows, payload.marketId, { at, was: ["suspended"], what: "resumed a market that is" });
    case "market.closed":
      return closingProblems(rows, payload, at);
    case "market.clarified":
      return clarificationProblems(rows, payload, at);
    case "market.settled":
      return settlementProblems(rows, payload, at);
    case "market.voided":
      return voidProblems(rows, payload, at);
    case "market.corrected":
      return correctionProblems(rows, payload, at);
    case "proposal.created":
    case "proposal.approved":
    case "proposal.objected":
    case "proposal.rejected":
    case "proposal.executed":
      return proposalProblems(rows, entry);
    case "oracle.resolved":
      return resolutionProblems(rows, payload, at);
    case "wallet.credited":
      return [
        ...creditProblems(rows, payload),
        ...(payload.creditId === undefined ? [] : ungovernedCredit(rows, payload, at)),
      ];
    case "wallet.debited":
      return debitProblems(rows, payload);
    case "withdrawal.approved":
      return [...withdrawalProblems(rows, payload, false), ...ungovernedPayout(rows, payload, at)];
    case "withdrawal.requested":
    case "withdrawal.rejected":
      return withdrawalProblems(rows, payload, type === "withdrawal.requested");
    case "kyc.updated":
      return differing(payload.userId, {
        "a result from the future": [String(Date.parse(payload.verifiedAt) > at + MAX_AHEAD_MS), "false"],
      });
    case "suitability.submitted": {
      const score = Object.values(payload.answers).reduce((sum, each) => sum + each, 0);
      const tenant = rows.get("tenant", SINGLE);
      const passed = tenant && isPassed(score, policyAt(tenant, at).suitabilityThresholds);
      return differing(payload.userId, {
        score: [String(payload.score), String(score)],
        passed: [String(payload.passed), String(passed)],
      });
    }
    case "user.restricted": {
      const trader = rows.get("trader", payload.userId) ?? newTrader(payload.userId, at);
      const state = traderStateOf({ ...trader, restricted: payload.restricted });
      return differing(payload.userId, { state: [payload.state, state] });
    }
    case "policy.updated":
      return policyProblems(rows, payload);
    case "config.applied":
      return applyProblems(rows, payload, at);
    default:
      return [];
  }
}

/** The trade as requested, filled by the engine: status, limits, funds and price from the records. */
function tradeProblems(rows: LoggedRows, payload: PayloadOf<"trade.executed">, at: number): Problem[] {
  const { marketId, userId, side, jurisdiction: claimedJurisdiction } = payload;
  const about = `${marketId} ${userId}`;
  const terms = { marketId, side, claimedJurisdiction };
  const isSale = payload.action === "sell";
  let fill: Fill;
  try {
    fill = isSale
      ? fillSell(rows, { ...terms, sharesMicro: microFromDecimal(payload.shares) }, userId, at)
      : fillBuy(rows, { ...terms, amountMicro: microFromDecimal(payload.amount) }, userId, at);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return [{ about, what: fault.code, recorded: "executed", recomputed: fault.message }];
  }
  const recordedMicro = microFromDecimal(isSale ? payload.amount : payload.shares);
  const isSame =
    recordedMicro === (isSale ? fill.amountMicro : fill.sharesMicro) &&
    microFromDecimal(payload.fee) === fill.feeMicro &&
    Number(payload.yesPriceAfter) === fill.yesPriceAfter;
  if (isSame && !isSale) return [];
  const held = rows.get("position", positionKey(userId, marketId, side));
  const released = held && held.sharesMicro > 0n ? (held.costMicro * fill.sharesMicro) / held.sharesMicro : 0n;
  return differing(about, {
    amount: [payload.amount, decimalFromMicro(fill.amountMicro)],
    shares: [payload.shares, decimalFromMicro(fill.sharesMicro)],
    fee: [payload.fee, decimalFromMicro(fill.feeMicro)],
    yesPriceAfter: [payload.yesPriceAfter, String(fill.yesPriceAfter)],
    ...(isSale ? { cost: [payload.cost ?? "", decimalFromMicro(released)] } : {}),
  });
}

/** The treasury's funds are checked when the whole commit is known: see `Recomputation`. */
function marketProblems(rows: LoggedRows, payload: PayloadOf<"market.created">, at: number): Problem[] {
  const { marketId, kind, key } = payload;
  const [fundMicro, p0Ppm] = [microFromDecimal(payload.liquidity), Math.round(Number(payload.p0) * 1e6)];
  const pool = openPool({ kind, fundMicro, p0Ppm });
  return differing(marketId, {
    "closes in the future": [String(Date.parse(payload.closeAt) > at), "true"],
    "is another market's": [String(rows.get("market", marketId) !== undefined), "false"],
    "has another market's key": [String(key !== undefined && rows.get("marketKey", key) !== undefined), "false"],
    "has shares to sell": [String(pool.yesMicro > 0n && pool.noMicro > 0n), "true"],
  });
}

function statusOf(rows: LoggedRows, marketId: string, at: number): MarketStatus | "unknown" {
  const [market, state] = [rows.get("market", marketId), rows.get("marketState", marketId)];
  return market && state ? statusAt({ status: state.status, closeAt: market.closeAt }, at) : "unknown";
}

function statusProblems(
  rows: LoggedRows,
  marketId: string,
  { at, was, what }: { at: number; was: readonly string[]; what: string },
): Problem[] {
  const status = statusOf(rows, marketId, at);
  return was.includes(status) ? [] : [{ about: marketId, what, recorded: was.join(" or "), recomputed: status }];
}

function closingProblems(rows: LoggedRows, payload: PayloadOf<"market.closed">, at: number): Problem[] {
  const { marketId } = payload;
  const closeAt = new Date(rows.get("market", marketId)?.closeAt ?? 0).toISOString();
  return [
    ...statusProblems(rows, marketId, { at, was: ["closed"], what: "closed a market that is" }),
    ...differing(marketId, {
      closeAt: [payload.closeAt, closeAt],
      "closed twice": [String(rows.get("marketState", marketId)?.closingRecorded === true), "false"],
    }),
  ];
}

function clarificationProblems(
  rows: LoggedRows,
  { marketId, id }: PayloadOf<"market.clarified">,
  at: number,
): Problem[] {
  const earlier = rows.get("clarifications", marketId)?.length ?? 0;
  return [
    ...statusProblems(rows, marketId, {
      ...{ at, was: ["open", "suspended", "closed"], what: "clarified a market that is" },
    }),
    ...differing(marketId, {
      [`clarified more than ${MOST_CLARIFICATIONS} times`]: [String(earlier >= MOST_CLARIFICATIONS), "false"],
      "repeats a clarification": [String(rows.get("clarification", id) !== undefined), "false"],
    }),
  ];
}

/** The outcome must follow from the recorded price and the market's original terms. */
function resolutionProblems(rows: LoggedRows, payload: PayloadOf<"oracle.resolved">, at: number): Problem[] {
  const { marketId, outcome, price, oracle } = payload;
  const [market, tenant] = [rows.get("market", marketId), rows.get("tenant", SINGLE)];
  const url = tenant ? policyAt(tenant, at).resolution_url : null;
  const about = marketId;
  const early = market && at < market.closeAt;
  const problems = differing(about, { "resolved before closeAt": [String(early), "false"] });
  // The tenant's own oracle states the outcome; the built-in one derives it.
  if (oracle !== undefined)
    return [...problems, ...differing(about, { oracle: [String(oracle), url ? new URL(url).host : "none"] })];
  const terms = market?.terms ? decodeTerms(market.terms) : undefined;
  const seen = price === undefined ? undefined : parseDecimal(price);
  if (!terms || !seen)
    return [...problems, { about, what: "terms", recorded: "resolved", recomputed: "a person decides" }];
  return [
    ...problems,
    ...differing(about, {
      feed: [payload.ref ?? "", terms.feed],
      strike: [payload.strike ?? "", terms.strike],
      outcome: [outcomeOf(outcome), isFulfilled(terms, seen) ? "yes" : "no"],
      resolution_url: ["none", url || "none"],
    }),
  ];
}

/** A provider's credit first repays the user's debt. */
function creditProblems(rows: LoggedRows, payload: PayloadOf<"wallet.credited">): Problem[] {
  const { userId, creditId, receivable = "0" } = payload;
  const amountMicro = microFromDecimal(payload.amount);
  const owedMicro = creditId === undefined ? -rows.balance(receivableOf(userId)) : 0n;
  const paidMicro = owedMicro <= 0n ? 0n : owedMicro < amountMicro ? owedMicro : amountMicro;
  return differing(userId, { receivable: [receivable, decimalFromMicro(paidMicro)] });
}

/** The user owes the amount that the wallet did not hold. */
function debitProblems(rows: LoggedRows, payload: PayloadOf<"wallet.debited">): Problem[] {
  const [amountMicro, heldMicro] = [microFromDecimal(payload.amount), rows.balance(walletOf(payload.userId))];
  const owedMicro = amountMicro > heldMicro ? amountMicro - heldMicro : 0n;
  return differing(payload.userId, { receivable: [payload.receivable, decimalFromMicro(owedMicro)] });
}

function withdrawalProblems(rows: LoggedRows, payload: PayloadOf<"withdrawal.requested">, isNew: boolean): Problem[] {
  const { withdrawalId, userId, amount } = payload;
  const known = rows.get("withdrawal", withdrawalId);
  const textOf = (row: Withdrawal | undefined) =>
    row ? `${row.status} ${decimalFromMicro(row.amountMicro)} of ${row.traderId}` : "none";
  if (!isNew)
    return differing(withdrawalId, { "the withdrawal decided": [`pending ${amount} of ${userId}`, textOf(known)] });
  return differing(withdrawalId, {
    "a withdrawal of this id": ["none", textOf(known)],
    "a restricted user": ["false", String(rows.get("trader", userId)?.restricted === true)],
    "a wallet that holds it": ["true", String(rows.balance(walletOf(userId)) >= microFromDecimal(amount))],
  });
}

/** A policy change must leave the rest of the tenant's row unchanged. */
function policyProblems(rows: LoggedRows, { state }: PayloadOf<"policy.updated">): Problem[] {
  const tenant = rows.get("tenant", SINGLE);
  return differing("configuration", {
    "kyc.required": [String(state.kycRequired), String(tenant?.kycRequired)],
    "markets.liquidityUsd": [state.liquidity, decimalFromMicro(tenant?.liquidityMicro ?? 0n)],
    "treasury.capitalUsd": [state.capital, decimalFromMicro(tenant?.capitalMicro ?? 0n)],
  });
}

function applyProblems(rows: LoggedRows, payload: PayloadOf<"config.applied">, at: number): Problem[] {
  const { state, capitalAdded, frozenUntil } = payload;
  const before = rows.get("tenant", SINGLE);
  const until = rows.get("freeze", SINGLE)?.until ?? 0;
  const policy = storedPolicy(state.policy);
  const changes = before ? policyChanges(before.policy, policy) : policy;
  return differing("configuration", {
    policy: [canonicalJson(payload.policy), canonicalJson(changes)],
    "treasury.capitalUsd": [
      state.capital,
      decimalFromMicro((before?.capitalMicro ?? 0n) + microFromDecimal(capitalAdded)),
    ],
    "frozen until": [frozenUntil ?? "not frozen", until > at ? new Date(until).toISOString() : "not frozen"],
  });
}
