import { type AuditPayloads, isOfType } from "../../domain/audit/audit-payloads.ts";
import { changeByUser } from "../../domain/market/ends.ts";
import { afterTrade, NOTHING_HELD, type Owned } from "../../domain/market/holding.ts";
import { type Outcome, outcomeName, outcomeOf, outcomeOnRecord, paidPpm } from "../../domain/market/outcome.ts";
import { decimalFromMicro, microFromDecimal, usdFromMicro } from "../../domain/money.ts";
import type { Entry } from "../audit/walk-log.ts";

export interface StoryLine {
  ts: string;
  seq: number;
  hash: string;
  /** The entry's type, or `payout`. */
  kind: string;
  actor: string;
  sentence: string;
  amountUsd: number | null;
}

/** The types of entries that pay positions. */
export const END_TYPES = ["market.settled", "market.voided", "market.corrected"] as const;

interface TradeEntry {
  payload: AuditPayloads["trade.executed"];
}

/** The outcomes before and after an entry. */
interface Change {
  /** Undefined for a market that had none. */
  from: Outcome | undefined;
  to: Outcome;
}

/** What the end or the correction of a market changed for each user of the trades, the largest payment first. */
export function payoutsAt(entry: Entry, trades: readonly TradeEntry[], question: string | undefined): StoryLine[] {
  const change = changeBy(entry);
  if (!change) return [];
  const { ts, seq, hash, actor, payload } = entry;
  const holdings = holdingsOf(trades.filter((trade) => trade.payload.marketId === payload.marketId));
  const market = question === undefined ? String(payload.marketId) : `'${question}'`;
  return [...changeByUser(holdings, change.from, change.to)]
    .toSorted(([, a], [, b]) => Number(b - a))
    .map(([userId, micro]) => {
      const own = holdings.filter(({ traderId }) => traderId === userId);
      const sentence = `${userId} ${paymentSaid(micro, own, change, market)}`;
      return { ts, seq, hash, kind: "payout", actor, sentence, amountUsd: usdFromMicro(micro) };
    });
}

/** Such as `was paid $4 for 10 Yes at 0.4 of 'Rain?'`. */
function paymentSaid(micro: bigint, own: readonly Owned[], { from, to }: Change, market: string): string {
  const amount = `$${decimalFromMicro(micro < 0n ? -micro : micro)}`;
  if (from !== undefined) {
    const correction = `when ${market} was corrected from ${said(from)} to ${said(to)}`;
    return `${micro < 0n ? "had to give back" : "was paid"} ${amount} ${correction}`;
  }
  if (to === "void") {
    const feeMicro = own.reduce((sum, each) => sum + each.feeMicro, 0n);
    return `was refunded ${amount}, the cost of its shares of ${market} with $${decimalFromMicro(feeMicro)} of fees`;
  }
  const paid = own.filter(({ side, sharesMicro }) => sharesMicro > 0n && paidPpm(side, to) > 0);
  const parts = paid.map(({ side, sharesMicro }) => {
    const at = to === side ? "" : ` at ${paidPpm(side, to) / 1e6}`;
    return `${decimalFromMicro(sharesMicro)} ${said(side)}${at}`;
  });
  return `was paid ${amount} for ${parts.join(" and ")} of ${market}`;
}

const said = (outcome: Outcome): string => outcomeName(outcomeOnRecord(outcome));

function changeBy(entry: Entry): Change | undefined {
  if (isOfType(entry, "market.settled")) return { from: undefined, to: outcomeOf(entry.payload.outcome) };
  if (isOfType(entry, "market.voided")) return { from: undefined, to: "void" };
  if (!isOfType(entry, "market.corrected")) return undefined;
  return { from: outcomeOf(entry.payload.from), to: outcomeOf(entry.payload.outcome) };
}

/** The positions that trades of one market led to. */
function holdingsOf(trades: readonly TradeEntry[]): Owned[] {
  const held = new Map<string, Owned>();
  for (const { payload } of trades) {
    const { userId: traderId, side, action } = payload;
    const key = `${side} ${traderId}`;
    const now = held.get(key) ?? NOTHING_HELD;
    const traded = {
      isSale: action === "sell",
      sharesMicro: microFromDecimal(payload.shares),
      amountMicro: microFromDecimal(payload.amount),
      feeMicro: microFromDecimal(payload.fee),
    };
    held.set(key, { traderId, side, ...afterTrade(now, traded) });
  }
  return [...held.values()];
}
