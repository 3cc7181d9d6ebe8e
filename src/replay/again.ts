import { CAPITAL, TREASURY } from "../domain/accounts.ts";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { outcomeOf } from "../domain/market/outcome.ts";
import { microFromDecimal } from "../domain/money.ts";
import { covers } from "../domain/policy/covers.ts";
import { type Policy, policyAt } from "../domain/policy/policy.ts";
import type { Draft } from "../engine/draft.ts";
import { correct } from "../engine/ends/correction.ts";
import { settleMarket, voidMarket } from "../engine/ends/settlement.ts";
import { creditByOperator, creditUser, debitWallet, decideWithdrawal, requestWithdrawal } from "../engine/funding.ts";
import { clarifyMarket, createMarket, resumeMarket, suspendMarket } from "../engine/markets.ts";
import { debit } from "../engine/payments.ts";
import { positionKey, SINGLE } from "../engine/rows.ts";
import { placeTrade, sellShares } from "../engine/trade.ts";
import { applyEntry } from "./fold.ts";
import type { LoggedEntry, LoggedRows } from "./logged-rows.ts";

/** A recorded command, to be decided again. */
export interface Again {
  /** The user of a trade. */
  traderId?: string;
  decide: (draft: Draft) => void;
}

export interface Worlds {
  /** The rows before the entry, according to the log. */
  recorded: LoggedRows;
  /** The rows after the commands that were decided again. */
  proposed: LoggedRows;
}

/**
 * The command behind an entry; undefined for an entry without a command, and for a policy change, which the proposed
 * policy replaces. Requests of users and operators are decided again. A user's state (identity, score, restriction) and
 * outside events are taken over.
 */
export function commandAgain(entry: LoggedEntry, { recorded, proposed }: Worlds): Again | undefined {
  const { type, payload, at } = entry;
  switch (type) {
    case "trade.executed":
      return { traderId: payload.userId, decide: tradeAgain(payload, at, { recorded, proposed }) };
    case "market.created": {
      const { marketId: id, question, category, kind, closeAt, resolutionRef } = payload;
      const terms = {
        question,
        category,
        kind,
        resolutionRef,
        meta: canonicalJson(payload.meta),
        p0Ppm: Math.round(Number(payload.p0) * 1e6),
      };
      const liquidityMicro = microFromDecimal(payload.liquidity);
      const command = { id, ...terms, closeAt: Date.parse(closeAt), liquidityMicro };
      return { decide: (draft) => createMarket.decide(draft, command, at) };
    }
    case "market.suspended":
      return { decide: (draft) => suspendMarket.decide(draft, payload, at) };
    case "market.resumed":
      return { decide: (draft) => resumeMarket.decide(draft, payload, at) };
    case "market.clarified":
      return { decide: (draft) => clarifyMarket.decide(draft, payload, at) };
    case "market.settled": {
      const { marketId, outcome } = payload;
      return { decide: (draft) => settleMarket.decide(draft, { marketId, outcome: outcomeOf(outcome) }, at) };
    }
    case "market.voided":
      return { decide: (draft) => voidMarket.decide(draft, payload, at) };
    case "market.corrected": {
      const { marketId, outcome, reason } = payload;
      return { decide: (draft) => correct(draft, { marketId, outcome: outcomeOf(outcome), reason }, at) };
    }
    case "wallet.credited": {
      const { creditId, userId, amount, provider, txRef = "" } = payload;
      const amountMicro = microFromDecimal(amount);
      if (creditId === undefined)
        return { decide: (draft) => creditUser(draft, { provider, userId, amountMicro, txRef }) };
      return { decide: (draft) => creditByOperator(draft, { id: creditId, traderId: userId, amountMicro }, at) };
    }
    case "wallet.debited": {
      const { debitId, userId, amount, provider, txRef: reference = "", cause = "" } = payload;
      const amountMicro = microFromDecimal(amount);
      if (debitId === undefined)
        return { decide: (draft) => debit(draft, { provider, reference, userId }, amountMicro, cause) };
      return { decide: (draft) => debitWallet.decide(draft, { id: debitId, traderId: userId, amountMicro }, at) };
    }
    case "withdrawal.requested": {
      const { withdrawalId: id, userId: traderId, amount } = payload;
      const command = { id, traderId, amountMicro: microFromDecimal(amount) };
      return { decide: (draft) => requestWithdrawal.decide(draft, command, at) };
    }
    case "withdrawal.approved":
    case "withdrawal.rejected": {
      const command = { id: payload.withdrawalId, traderId: payload.userId, approve: type === "withdrawal.approved" };
      return { decide: (draft) => decideWithdrawal.decide(draft, command, at) };
    }
    case "kyc.updated":
    case "suitability.submitted":
    case "user.restricted":
      return { decide: () => applyEntry(proposed, entry) };
    case "config.applied": {
      const addedMicro = microFromDecimal(payload.capitalAdded);
      return addedMicro === 0n ? undefined : { decide: (draft) => draft.transfer(CAPITAL, TREASURY, addedMicro) };
    }
    default:
      return undefined;
  }
}

/**
 * A purchase spends the same amount, at the price after the proposed trades. A sale sells the same share of the position:
 * other fees lead to other positions, and a sale that closed one still does. Bounds on the price are not recorded.
 */
function tradeAgain(payload: AuditPayloads["trade.executed"], at: number, worlds: Worlds): (draft: Draft) => void {
  const { tradeId: id, marketId, userId: traderId, side, action } = payload;
  const claimedJurisdiction = claimOf(traderId, at, worlds);
  const asked = { id, marketId, traderId, side, claimedJurisdiction };
  if (action !== "sell") {
    const amountMicro = microFromDecimal(payload.amount);
    return (draft) => placeTrade.decide(draft, { ...asked, amountMicro }, at);
  }
  const soldMicro = microFromDecimal(payload.shares);
  const key = positionKey(traderId, marketId, side);
  const heldMicro = worlds.recorded.get("position", key)?.sharesMicro ?? 0n;
  const nowMicro = worlds.proposed.get("position", key)?.sharesMicro ?? 0n;
  const sharesMicro = nowMicro === 0n || heldMicro === 0n ? soldMicro : (nowMicro * soldMicro) / heldMicro || 1n;
  return (draft) => sellShares.decide(draft, { ...asked, sharesMicro }, at);
}

/**
 * If the identity check named no jurisdiction, the user's unrecorded token may have named one. If the recorded policy
 * required a jurisdiction, the token satisfied it, and so the proposed policy is satisfied too.
 */
function claimOf(traderId: string, at: number, { recorded, proposed }: Worlds): string | undefined {
  const lists = proposed.get("tenant", SINGLE)?.policy.jurisdictions;
  const known = proposed.get("trader", traderId)?.jurisdiction ?? null;
  if (!lists || known !== null || !asksFor(lists)) return undefined;
  const tenant = recorded.get("tenant", SINGLE);
  return tenant && asksFor(policyAt(tenant, at).jurisdictions) ? admittedBy(lists) : undefined;
}

const asksFor = ({ allowed, blocked }: Policy["jurisdictions"]) => allowed.length + blocked.length > 0;

/** An ISO 3166 code that never belongs to a country. */
const NOWHERE = "ZZ";

function admittedBy({ allowed, blocked }: Policy["jurisdictions"]): string | undefined {
  const codes = allowed.length > 0 ? allowed.map((code) => code.toUpperCase()) : [NOWHERE];
  return codes.find((code) => !blocked.some((each) => covers(each.toUpperCase(), code)));
}
