import type { AuditEntry } from "../domain/audit/audit-link.ts";
import type { Side } from "../domain/market/market.ts";
import { bigint, integer, nullable, rowReader, text, whole } from "../ledger/codec.ts";
import { TABLES } from "../ledger/tables.ts";
import type { ReadSql } from "../postgres/connect.ts";

const toTrade = rowReader({
  id: text(),
  marketId: text(),
  question: text(),
  traderId: text(),
  side: text<Side>(),
  amountMicro: bigint(),
  feeMicro: bigint(),
  /** Negative when sold. */
  sharesMicro: bigint(),
  yesPricePpm: integer(),
  /** Of the trade before it in this market; null for the first one. */
  previousPricePpm: nullable(integer()),
  p0Ppm: integer(),
  ts: whole(),
});

/** A trade with its market, the price before it, and its audit entry. */
export type TradeRecord = ReturnType<typeof toTrade> & { entry: AuditEntry };

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
             limit 1) as previous_price_ppm
      from trade t
      join market m on m.id = t.market_id
      join audit a on a.seq = t.seq
     where t.id = ${id}`;
  return row && { ...toTrade(row), entry: TABLES.audit.decode({ ...row, ts: row.entry_ts }) };
}
