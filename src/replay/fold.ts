import { escrowOf, externalOf, FEES, pendingOf, receivableOf, WITHDRAWN, walletOf } from "../domain/accounts.ts";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { poolOf, split } from "../domain/market/pool.ts";
import { continueDay, continueHour, NO_DAY } from "../domain/market/running-sums.ts";
import { microFromDecimal } from "../domain/money.ts";
import { startOfDay, startOfHour } from "../domain/time/units.ts";
import { KYC_STATE_OF } from "../domain/trader.ts";
import { portfolioAfter } from "../engine/fill.ts";
import { newWatch } from "../engine/oracle.ts";
import { type MarketState, type Position, positionKey, SINGLE, type Tables, type Trader } from "../engine/rows.ts";
import { newTrader } from "../engine/traders.ts";
import { applyProposal } from "./fold-approvals.ts";
import { applyCapital, applyKeys, applyTenant } from "./fold-configuration.ts";
import { applyCorrection, applyEnd, foldFee } from "./fold-ends.ts";
import { applyClarification, applyMarket } from "./fold-market.ts";
import type { LoggedEntry, LoggedRows } from "./logged-rows.ts";

/**
 * Updates the rows to their state after an entry, from the entry alone, without the rules that decided it. Only this
 * file and `fold-market.ts` define what an entry does to rows. They omit data that no entry states: versions, and the
 * rows of payments and of a provider's statements about them.
 * @param rows the rows after the previous entry
 */
export function applyEntry(rows: LoggedRows, entry: LoggedEntry): void {
  const { type, payload, at, ts } = entry;
  switch (type) {
    case "trade.executed":
      applyTrade(rows, payload, { at, ts });
      break;
    case "market.created":
      applyMarket(rows, payload, at);
      break;
    case "market.imported":
    case "market.moved": {
      const market = rows.get("market", payload.marketId);
      if (market) rows.put("marketKey", payload.key, market);
      break;
    }
    case "market.suspended":
    case "market.resumed":
      change(rows, "marketState", payload.marketId, { status: type === "market.resumed" ? "open" : "suspended" });
      break;
    case "market.closed":
      change(rows, "marketState", payload.marketId, { closingRecorded: true });
      break;
    case "market.clarified":
      applyClarification(rows, payload, at);
      break;
    case "market.settled":
    case "market.voided":
      applyEnd(rows, payload, at);
      break;
    case "market.corrected":
      applyCorrection(rows, payload, at);
      break;
    case "proposal.created":
    case "proposal.approved":
    case "proposal.objected":
    case "proposal.rejected":
    case "proposal.executed":
      applyProposal(rows, entry);
      break;
    case "plan.approved": {
      const { sha256 } = payload;
      rows.put("planApproval", `${sha256}\n${entry.actor}`, { sha256, actor: entry.actor, at });
      break;
    }
    case "oracle.held":
      applyHold(rows, payload, at);
      break;
    case "wallet.credited":
      applyCredit(rows, payload, at);
      break;
    case "wallet.debited": {
      const owedMicro = microFromDecimal(payload.receivable);
      const provider = externalOf(payload.provider);
      rows.move(walletOf(payload.userId), provider, microFromDecimal(payload.amount) - owedMicro);
      rows.move(receivableOf(payload.userId), provider, owedMicro);
      break;
    }
    case "withdrawal.requested":
    case "withdrawal.approved":
    case "withdrawal.rejected":
      applyWithdrawal(rows, type, payload, at);
      break;
    case "kyc.updated":
      changeTrader(rows, payload.userId, at, {
        kyc: KYC_STATE_OF[payload.status],
        kycAt: Date.parse(payload.verifiedAt),
        ...(payload.jurisdiction === undefined ? {} : { jurisdiction: payload.jurisdiction }),
      });
      break;
    case "suitability.submitted": {
      const { assessmentId: id, userId: traderId, score } = payload;
      const [answers, submittedAt] = [canonicalJson(payload.answers), Date.parse(payload.submittedAt)];
      rows.put("assessment", id, { id, traderId, answers, score, submittedAt });
      changeTrader(rows, traderId, at, { suitabilityScore: score, suitabilityAt: submittedAt });
      break;
    }
    case "kyc.unrecognised":
      changeTrader(rows, payload.userId, at);
      break;
    case "user.restricted":
      changeTrader(rows, payload.userId, at, { restricted: payload.restricted });
      break;
    case "session.revoked":
      rows.put("revocation", payload.userId, { before: Date.parse(payload.revokeBefore) });
      changeTrader(rows, payload.userId, at);
      break;
    case "config.applied":
      applyCapital(rows, payload);
      applyTenant(rows, payload.state, canonicalJson(payload.document));
      break;
    case "policy.updated":
      applyTenant(rows, payload.state, rows.get("tenant", SINGLE)?.document ?? "");
      break;
    case "config.frozen":
    case "config.unfrozen":
      rows.put("freeze", SINGLE, { until: type === "config.frozen" ? Date.parse(payload.until) : null });
      break;
    case "key.created":
    case "key.revoked":
      applyKeys(rows, payload);
      break;
  }
}

function applyHold(rows: LoggedRows, { marketId, reason, detail }: AuditPayloads["oracle.held"], at: number): void {
  const instantAt = rows.get("market", marketId)?.closeAt ?? 0;
  const watch = rows.get("watch", marketId) ?? newWatch(marketId, instantAt, false);
  rows.put("watch", marketId, { ...watch, hold: { reason, detail, at } });
}

function change<T extends "marketState" | "watch">(
  rows: LoggedRows,
  table: T,
  marketId: string,
  to: Partial<Tables[T]>,
): void {
  const row = rows.get(table, marketId);
  if (row) rows.put(table, marketId, { ...row, ...to });
}

/**
 * A purchase mints its net amount as complete sets into the pool and takes its shares out; a sale returns its shares
 * and burns its proceeds as sets. The entry states all amounts, so no price is computed.
 */
function applyTrade(
  rows: LoggedRows,
  payload: AuditPayloads["trade.executed"],
  { at, ts }: Pick<LoggedEntry, "at" | "ts">,
): void {
  const { marketId, userId, side } = payload;
  const [amountMicro, feeMicro] = [microFromDecimal(payload.amount), microFromDecimal(payload.fee)];
  const isSale = payload.action === "sell";
  const boughtMicro = isSale ? -microFromDecimal(payload.shares) : microFromDecimal(payload.shares);
  const releasedMicro = isSale ? microFromDecimal(payload.cost ?? "0") : 0n;
  const costMicro = isSale ? -releasedMicro : amountMicro;
  const payer = isSale ? escrowOf(marketId) : walletOf(userId);
  rows.move(payer, isSale ? walletOf(userId) : escrowOf(marketId), amountMicro - feeMicro);
  rows.move(payer, FEES, feeMicro);
  const state = rows.get("marketState", marketId);
  if (state) {
    const [own, opposite] = split(state, side);
    const mintedMicro = isSale ? -amountMicro : amountMicro - feeMicro;
    const hour = continueHour(state, {
      hour: startOfHour(ts),
      hourVolumeMicro: amountMicro,
      hourFeeMicro: feeMicro,
      yesPricePpm: Math.round(Number(payload.yesPriceAfter) * 1e6),
    });
    const traded: MarketState = {
      ...state,
      ...hour.running,
      ...poolOf(side, own + mintedMicro - boughtMicro, opposite + mintedMicro),
      volumeMicro: state.volumeMicro + amountMicro,
    };
    rows.put("marketState", marketId, traded);
  }
  changeTrader(rows, userId, at);
  const key = positionKey(userId, marketId, side);
  const held: Position = rows.get("position", key) ?? {
    ...{ marketId, traderId: userId, side, sharesMicro: 0n, costMicro: 0n, version: 0, ...NO_DAY },
  };
  const day = continueDay(held, {
    day: startOfDay(ts),
    dayVolumeMicro: amountMicro,
    dayTrades: 1,
    dayRealizedMicro: isSale ? amountMicro - feeMicro - releasedMicro : 0n,
  });
  foldFee(rows, held, { isSale, sharesMicro: isSale ? -boughtMicro : boughtMicro, feeMicro });
  rows.put("position", key, {
    ...held,
    ...day.running,
    sharesMicro: held.sharesMicro + boughtMicro,
    costMicro: held.costMicro + costMicro,
  });
  rows.put("portfolio", userId, portfolioAfter(rows.get("portfolio", userId), costMicro));
}

/** A provider's credit first repays the user's debt. */
function applyCredit(rows: LoggedRows, payload: AuditPayloads["wallet.credited"], at: number): void {
  const { userId, amount, receivable = "0", provider } = payload;
  const paidMicro = microFromDecimal(receivable);
  changeTrader(rows, userId, at);
  rows.move(externalOf(provider), receivableOf(userId), paidMicro);
  rows.move(externalOf(provider), walletOf(userId), microFromDecimal(amount) - paidMicro);
}

function applyWithdrawal(
  rows: LoggedRows,
  type: `withdrawal.${"requested" | "approved" | "rejected"}`,
  { withdrawalId: id, userId: traderId, amount }: AuditPayloads["withdrawal.requested"],
  at: number,
): void {
  const amountMicro = microFromDecimal(amount);
  const [wallet, pending] = [walletOf(traderId), pendingOf(traderId)];
  const known = rows.get("withdrawal", id) ?? { id, traderId, amountMicro, createdAt: at, version: 0 };
  if (type === "withdrawal.requested") {
    rows.move(wallet, pending, amountMicro);
    rows.put("withdrawal", id, { ...known, status: "pending", decidedAt: null });
    return;
  }
  const isApproved = type === "withdrawal.approved";
  rows.move(pending, isApproved ? WITHDRAWN : wallet, amountMicro);
  rows.put("withdrawal", id, { ...known, status: isApproved ? "approved" : "rejected", decidedAt: at });
}

/** A user exists from the first entry about it. */
function changeTrader(rows: LoggedRows, id: string, at: number, to?: Partial<Trader>): void {
  const known = rows.get("trader", id);
  if (!known || to) rows.put("trader", id, { ...(known ?? newTrader(id, at)), ...to });
}
