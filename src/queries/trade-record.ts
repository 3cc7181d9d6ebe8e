import type { AuditEntry } from "../domain/audit/audit-link.ts";
import type { Mechanism, Side } from "../domain/market/market.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** A trade with what was true around it. */
export interface TradeRecord {
  id: string;
  marketId: string;
  question: string;
  traderId: string;
  side: Side;
  amountMicro: bigint;
  feeMicro: bigint;
  /** Negative when sold. */
  sharesMicro: bigint;
  yesPricePpm: number;
  /** Of the trade before it in this market; null for the first one. */
  previousPricePpm: number | null;
  p0Ppm: Mechanism["p0Ppm"];
  ts: number;
  entry: AuditEntry;
}

/** One trade of any user. Nothing indexes trades by market, so the price before it is looked for backwards. */
export async function findTradeRecord(sql: ReadSql, id: string): Promise<TradeRecord | undefined> {
  const [row] = await sql`
    select t.id, t.market_id, m.question, t.trader_id, t.side, t.amount_micro, t.fee_micro, t.shares_micro,
           t.yes_price_ppm, t.ts, m.p0_ppm, a.seq, a.type, a.actor, a.payload, a.ts as entry_ts, a.key_id, a.hash,
           (select before.yes_price_ppm
              from trade before
             where before.market_id = t.market_id
               and before.seq < t.seq
             order by before.seq desc
             limit 1) as previous_ppm
      from trade t
      join market m on m.id = t.market_id
      join audit a on a.seq = t.seq
     where t.id = ${id}`;
  if (!row) return undefined;
  return {
    id: row.id,
    marketId: row.market_id,
    question: row.question,
    traderId: row.trader_id,
    side: row.side,
    amountMicro: BigInt(row.amount_micro),
    feeMicro: BigInt(row.fee_micro),
    sharesMicro: BigInt(row.shares_micro),
    yesPricePpm: row.yes_price_ppm,
    previousPricePpm: row.previous_ppm,
    p0Ppm: Number(row.p0_ppm),
    ts: Number(row.ts),
    entry: {
      seq: BigInt(row.seq),
      type: row.type,
      actor: row.actor,
      payloadText: row.payload,
      ts: row.entry_ts,
      keyId: row.key_id,
      hash: row.hash,
    },
  };
}
