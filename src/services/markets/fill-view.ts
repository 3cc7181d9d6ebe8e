import type { AuditPayloads } from "../../domain/audit/audit-payloads.ts";
import type { Side } from "../../domain/market/market.ts";
import { averagePrice, microFromDecimal, usdFromMicro } from "../../domain/money.ts";

/** A fill that was just executed, computed for a quote, stored, or read from the audit log. */
export interface ViewedFill<Instant> {
  marketId: string;
  side: Side;
  action: "buy" | "sell";
  /** The gross amount. */
  amountMicro: bigint;
  feeMicro: bigint;
  /** Positive for purchases and sales. */
  sharesMicro: bigint;
  yesPriceAfter: number;
  ts: Instant;
}

/** The public fields of a fill: the contract's `fillFields`, with money in micro-dollars. */
export function fillView<Instant>(fill: ViewedFill<Instant>) {
  const { marketId, side, action, amountMicro, feeMicro, sharesMicro, yesPriceAfter, ts } = fill;
  return {
    marketId,
    side,
    action,
    amount: amountMicro,
    shares: sharesMicro,
    avgPrice: averagePrice(amountMicro, sharesMicro),
    ts,
    fee: feeMicro,
    yesPriceAfter,
  };
}

/** The public fields of a fill in wire form, as its audit entry records it. @param ts the entry's time */
export function recordedFillView(payload: AuditPayloads["trade.executed"], ts: string) {
  const { marketId, side, action = "buy" } = payload;
  const amountMicro = microFromDecimal(payload.amount);
  const feeMicro = microFromDecimal(payload.fee);
  const sharesMicro = microFromDecimal(payload.shares);
  const yesPriceAfter = Number(payload.yesPriceAfter);
  const view = fillView({ marketId, side, action, amountMicro, feeMicro, sharesMicro, yesPriceAfter, ts });
  return { ...view, amount: usdFromMicro(amountMicro), fee: usdFromMicro(feeMicro), shares: usdFromMicro(sharesMicro) };
}
