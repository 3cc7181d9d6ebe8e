import type { Side } from "../../domain/market/market.ts";
import { bigint, integer, rowReader, text, whole } from "../../ledger/codec.ts";
import { TABLES } from "../../ledger/tables.ts";
import type { ReadSql, Row } from "../../postgres/connect.ts";

const toTrade = rowReader({
  seq: whole(),
  id: text(),
  marketId: text(),
  question: text(),
  side: text<Side>(),
  amountMicro: bigint(),
  feeMicro: bigint(),
  /** Negative when sold. */
  sharesMicro: bigint(),
  yesPricePpm: integer(),
  ts: whole(),
});

/** A trade with the hedge that it was tagged with. */
export type OrderRow = ReturnType<typeof toOrder>;

export interface OrderQuery {
  traderId: string;
  marketId?: string | undefined;
  /** Only trades before this entry. */
  before?: number | undefined;
  limit: number;
}

function select(sql: ReadSql) {
  return sql`
    select t.seq, t.id, t.market_id, m.question, t.side, t.amount_micro, t.fee_micro, t.shares_micro, t.yes_price_ppm,
           t.ts, h.symbol, h.direction, h.notional_minor, h.external_ref
      from trade t
      join market m on m.id = t.market_id
      left join hedge h on h.seq = t.seq`;
}

/** A trader's own trades, newest first. */
export async function listOrders(sql: ReadSql, { traderId, marketId, before, limit }: OrderQuery): Promise<OrderRow[]> {
  const rows = await sql`
    ${select(sql)}
     where t.trader_id = ${traderId}
       ${marketId === undefined ? sql`` : sql`and t.market_id = ${marketId}`}
       ${before === undefined ? sql`` : sql`and t.seq < ${before}`}
     order by t.seq desc
     limit ${limit}`;
  return rows.map(toOrder);
}

/** Another user's trade is answered like an unknown one, so ids cannot be probed. */
export async function findOrder(sql: ReadSql, traderId: string, id: string): Promise<OrderRow | undefined> {
  const [row] = await sql`${select(sql)} where t.id = ${id} and t.trader_id = ${traderId}`;
  return row && toOrder(row);
}

function toOrder(row: Row) {
  if (row.symbol === null) return { ...toTrade(row), hedgeRef: undefined };
  const { symbol, direction, notional, externalRef } = TABLES.hedge.decode(row);
  return { ...toTrade(row), hedgeRef: { symbol, direction, notional, externalRef } };
}
