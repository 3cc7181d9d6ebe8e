import { CAPITAL, TREASURY } from "../domain/accounts.ts";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { microFromDecimal } from "../domain/money.ts";
import { covers } from "../domain/policy/jurisdictions.ts";
import { type Policy, policyAt } from "../domain/policy/policy.ts";
import type { Draft } from "../engine/draft.ts";
import { creditByOperator, creditUser, debitWallet, decideWithdrawal, requestWithdrawal } from "../engine/funding.ts";
import { createMarket, resumeMarket, suspendMarket } from "../engine/markets.ts";
import { debit } from "../engine/payments.ts";
import { positionKey, SINGLE } from "../engine/rows.ts";
import { settleMarket } from "../engine/settlement.ts";
import { placeTrade, sellShares } from "../engine/trade.ts";
import { applyEntry } from "./fold.ts";
import type { LoggedEntry, LoggedRows } from "./logged-rows.ts";

/** A command that is on record, as it is decided again. */
export interface Again {
  /** Of a trade: who asked for it. */
  traderId?: string;
  decide: (draft: Draft) => void;
}

export interface Worlds {
  /** As the log left them before the entry. */
  recorded: LoggedRows;
  /** As the commands that were decided again left them. */
  proposed: LoggedRows;
}

/**
 * The command behind an entry; undefined for an entry without one, and for a change of the policy, in whose place the
 * proposed one stands. What a user or an operator asked for is asked again; what a user is (identity, score, restriction)
 * and what came from outside is taken over.
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
    case "market.settled": {
      const { marketId, outcome } = payload;
      return { decide: (draft) => settleMarket.decide(draft, { marketId, outcome }, at) };
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
 * A purchase spends the same amount, at the price that the proposed trades have led to. A sale gives up the same part of
 * the position: other fees make other positions, and what closed one still does. Bounds on the price are not on record.
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
 * Where the identity check named no jurisdiction, the user's token may have, which is not on record. A recorded policy
 * that asked for one was satisfied, and so is the proposed one then.
 */
function claimOf(traderId: string, at: number, { recorded, proposed }: Worlds): string | undefined {
  const lists = proposed.get("tenant", SINGLE)?.policy.jurisdictions;
  const known = proposed.get("trader", traderId)?.jurisdiction ?? null;
  if (!lists || known !== null || !asksFor(lists)) return undefined;
  const tenant = recorded.get("tenant", SINGLE);
  return tenant && asksFor(policyAt(tenant, at).jurisdictions) ? admittedBy(lists) : undefined;
}

const asksFor = ({ allowed, blocked }: Policy["jurisdictions"]) => allowed.length + blocked.length > 0;

/** A code of ISO 3166 that no country ever has. */
const NOWHERE = "ZZ";

function admittedBy({ allowed, blocked }: Policy["jurisdictions"]): string | undefined {
  const codes = allowed.length > 0 ? allowed.map((code) => code.toUpperCase()) : [NOWHERE];
  return codes.find((code) => !blocked.some((each) => covers(each.toUpperCase(), code)));
}
