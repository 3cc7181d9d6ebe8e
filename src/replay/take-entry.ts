import {
  CAPITAL,
  escrowOf,
  externalOf,
  FEES,
  pendingOf,
  receivableOf,
  TREASURY,
  WITHDRAWN,
  walletOf,
} from "../domain/accounts.ts";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import {
  type AuditContent,
  type AuditPayloads,
  parsedContent,
  type StatedTenant,
} from "../domain/audit/audit-payloads.ts";
import { openPool } from "../domain/market/market.ts";
import { poolOf, split } from "../domain/market/pool.ts";
import { NO_DAY, NO_HOUR } from "../domain/market/running-sums.ts";
import { microFromDecimal } from "../domain/money.ts";
import { storedPolicy } from "../domain/policy/policy.ts";
import { EMPTY_PORTFOLIO } from "../engine/fill.ts";
import { type Market, type MarketState, type Position, positionKey, SINGLE, type Trader } from "../engine/rows.ts";
import { newTrader } from "../engine/traders.ts";
import type { LoggedRows } from "./logged-rows.ts";

/** What an entry says, and when it was written, milliseconds since 1970. */
export type LoggedEntry = AuditContent & { at: number };

/** @returns undefined for a payload that is no JSON object, which only a tampered row holds */
export function loggedEntry({ ts, ...entry }: { type: string; payload: object; ts: string }): LoggedEntry | undefined {
  const content = parsedContent(entry);
  return content && { ...content, at: Date.parse(ts) };
}

/**
 * Brings the rows to where an entry leaves them: from the entry alone, without the rules by which it was decided. A sum
 * of an hour or a day, and a row that no entry tells of, such as a payment's, is not kept.
 * @param rows as the entry before left them
 */
export function takeEntry(rows: LoggedRows, { type, payload, at }: LoggedEntry): void {
  switch (type) {
    case "trade.executed":
      takeTrade(rows, payload, at);
      break;
    case "market.created":
      takeMarket(rows, payload, at);
      break;
    case "market.suspended":
      changeState(rows, payload.marketId, { status: "suspended" });
      break;
    case "market.resumed":
      changeState(rows, payload.marketId, { status: "open" });
      break;
    case "market.closed":
      changeState(rows, payload.marketId, { closingRecorded: true });
      break;
    case "market.settled":
      takeSettlement(rows, payload, at);
      break;
    case "wallet.credited":
      takeCredit(rows, payload, at);
      break;
    case "wallet.debited":
      takeDebit(rows, payload);
      break;
    case "withdrawal.requested":
    case "withdrawal.approved":
    case "withdrawal.rejected":
      takeWithdrawal(rows, type, payload, at);
      break;
    case "kyc.updated":
      changeTrader(rows, payload.userId, at, ({ jurisdiction }) => ({
        kyc: payload.status === "passed" ? "verified" : "rejected",
        kycAt: Date.parse(payload.verifiedAt),
        jurisdiction: payload.jurisdiction ?? jurisdiction,
      }));
      break;
    case "suitability.submitted":
      changeTrader(rows, payload.userId, at, () => ({ suitabilityScore: payload.score, suitabilityAt: at }));
      break;
    case "user.restricted":
      changeTrader(rows, payload.userId, at, () => ({ restricted: payload.restricted }));
      break;
    case "session.revoked":
      changeTrader(rows, payload.userId, at, () => ({}));
      break;
    case "config.applied":
      takeCapital(rows, payload);
      takeTenant(rows, payload.state);
      break;
    case "policy.updated":
    case "state.recorded":
      takeTenant(rows, payload.state);
      break;
  }
}

/** What an apply pays into the treasury, before all else that it does. */
export function takeCapital(rows: LoggedRows, { capitalAdded }: AuditPayloads["config.applied"]): void {
  rows.move(CAPITAL, TREASURY, microFromDecimal(capitalAdded));
}

function takeMarket(rows: LoggedRows, payload: AuditPayloads["market.created"], at: number): void {
  const { marketId: id, question, category, kind, closeAt, resolutionRef, key = null, terms } = payload;
  const [fundMicro, p0Ppm] = [microFromDecimal(payload.liquidity), Math.round(Number(payload.p0) * 1e6)];
  const pool = openPool({ kind, fundMicro, p0Ppm });
  const market: Market = {
    ...{ id, question, category, kind, p0Ppm, fundMicro, closeAt: Date.parse(closeAt), resolutionRef },
    ...{ meta: "{}", createdAt: at, fileKey: key, terms: terms === undefined ? null : canonicalJson(terms) },
    ...{ houseYesMicro: fundMicro - pool.yesMicro, houseNoMicro: fundMicro - pool.noMicro },
  };
  rows.put("market", id, market);
  if (key !== null) rows.put("marketKey", key, market);
  rows.put("marketState", id, {
    ...{ marketId: id, ...pool, status: "open", volumeMicro: 0n, outcome: null, settledAt: null },
    ...{ closingRecorded: false, ...NO_HOUR, version: 0 },
  });
  rows.move(TREASURY, escrowOf(id), fundMicro);
}

function changeState(rows: LoggedRows, marketId: string, change: Partial<MarketState>): void {
  const state = rows.get("marketState", marketId);
  if (state) rows.put("marketState", marketId, { ...state, ...change });
}

/**
 * A purchase mints its net amount in complete sets into the pool and takes its shares out; a sale gives its shares back
 * and burns its proceeds in sets. What each moves stands in the entry, so no price is computed.
 */
function takeTrade(rows: LoggedRows, payload: AuditPayloads["trade.executed"], at: number): void {
  const { marketId, userId, side, action, cost = "0" } = payload;
  const amountMicro = microFromDecimal(payload.amount);
  const feeMicro = microFromDecimal(payload.fee);
  const sharesMicro = microFromDecimal(payload.shares);
  const isSale = action === "sell";
  const [wallet, escrow] = [walletOf(userId), escrowOf(marketId)];
  if (isSale) {
    rows.move(escrow, wallet, amountMicro - feeMicro);
    rows.move(escrow, FEES, feeMicro);
  } else {
    rows.move(wallet, escrow, amountMicro - feeMicro);
    rows.move(wallet, FEES, feeMicro);
  }
  const state = rows.get("marketState", marketId);
  if (state) {
    const [own, opposite] = split(state, side);
    const mintedMicro = isSale ? -amountMicro : amountMicro - feeMicro;
    const leftMicro = isSale ? -sharesMicro : sharesMicro;
    const pool = poolOf(side, own + mintedMicro - leftMicro, opposite + mintedMicro);
    const yesPricePpm = Math.round(Number(payload.yesPriceAfter) * 1e6);
    const volumeMicro = state.volumeMicro + amountMicro;
    rows.put("marketState", marketId, { ...state, ...pool, volumeMicro, yesPricePpm });
  }
  changeTrader(rows, userId, at, () => ({}));
  const key = positionKey(userId, marketId, side);
  const held: Position = rows.get("position", key) ?? {
    ...{ marketId, traderId: userId, side, sharesMicro: 0n, costMicro: 0n, version: 0, ...NO_DAY },
  };
  const costMicro = isSale ? -microFromDecimal(cost) : amountMicro;
  const shares = held.sharesMicro + (isSale ? -sharesMicro : sharesMicro);
  rows.put("position", key, { ...held, sharesMicro: shares, costMicro: held.costMicro + costMicro });
  expose(rows, userId, costMicro);
}

function expose(rows: LoggedRows, userId: string, costMicro: bigint): void {
  const { exposureMicro } = rows.get("portfolio", userId) ?? EMPTY_PORTFOLIO;
  rows.put("portfolio", userId, { exposureMicro: exposureMicro + costMicro });
}

/** Each share of the outcome takes its dollar out of the escrow, and the house the rest. */
function takeSettlement(rows: LoggedRows, payload: AuditPayloads["market.settled"], at: number): void {
  const { marketId, outcome, returned } = payload;
  const escrow = escrowOf(marketId);
  for (const { traderId, side, sharesMicro, costMicro } of rows.get("holders", marketId) ?? []) {
    if (side === outcome && sharesMicro > 0n) rows.move(escrow, walletOf(traderId), sharesMicro);
    expose(rows, traderId, -costMicro);
  }
  rows.move(escrow, TREASURY, microFromDecimal(returned));
  changeState(rows, marketId, { status: "settled", outcome, settledAt: at });
}

/** A credit of a provider pays first what the user owes. */
function takeCredit(rows: LoggedRows, payload: AuditPayloads["wallet.credited"], at: number): void {
  const { userId, amount, receivable = "0", provider } = payload;
  const paidMicro = microFromDecimal(receivable);
  changeTrader(rows, userId, at, () => ({}));
  rows.move(externalOf(provider), receivableOf(userId), paidMicro);
  rows.move(externalOf(provider), walletOf(userId), microFromDecimal(amount) - paidMicro);
}

function takeDebit(rows: LoggedRows, { userId, amount, receivable, provider }: AuditPayloads["wallet.debited"]): void {
  const owedMicro = microFromDecimal(receivable);
  rows.move(walletOf(userId), externalOf(provider), microFromDecimal(amount) - owedMicro);
  rows.move(receivableOf(userId), externalOf(provider), owedMicro);
}

function takeWithdrawal(
  rows: LoggedRows,
  type: `withdrawal.${"requested" | "approved" | "rejected"}`,
  { withdrawalId: id, userId: traderId, amount }: AuditPayloads["withdrawal.requested"],
  at: number,
): void {
  const amountMicro = microFromDecimal(amount);
  const [wallet, pending] = [walletOf(traderId), pendingOf(traderId)];
  const known = rows.get("withdrawal", id) ?? { id, traderId, amountMicro, createdAt: at, version: 0 };
  switch (type) {
    case "withdrawal.requested":
      rows.move(wallet, pending, amountMicro);
      rows.put("withdrawal", id, { ...known, status: "pending", decidedAt: null });
      break;
    case "withdrawal.approved":
      rows.move(pending, WITHDRAWN, amountMicro);
      rows.put("withdrawal", id, { ...known, status: "approved", decidedAt: at });
      break;
    case "withdrawal.rejected":
      rows.move(pending, wallet, amountMicro);
      rows.put("withdrawal", id, { ...known, status: "rejected", decidedAt: at });
      break;
  }
}

/** A user exists from the first entry about it. */
function changeTrader(rows: LoggedRows, id: string, at: number, change: (trader: Trader) => Partial<Trader>): void {
  const known = rows.get("trader", id);
  const trader = known ?? newTrader(id, at);
  const changed = change(trader);
  if (!known || Object.keys(changed).length > 0) rows.put("trader", id, { ...trader, ...changed });
}

/** Entries of older versions do not state the tenant's row. */
function takeTenant(rows: LoggedRows, stated: StatedTenant | undefined): void {
  if (!stated) return;
  rows.put("tenant", SINGLE, {
    policy: storedPolicy(stated.policy),
    overrides: stated.overrides.map((each) => ({ ...each, until: Date.parse(each.until) })),
    policyUpdatedAt: Date.parse(stated.policyUpdatedAt),
    kycRequired: stated.kycRequired,
    liquidityMicro: microFromDecimal(stated.liquidity),
    capitalMicro: microFromDecimal(stated.capital),
    document: stated.document,
    version: 0,
  });
}
