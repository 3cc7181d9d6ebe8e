import type { HedgeRef } from "../../domain/hedge.ts";
import type { Side } from "../../domain/market/market.ts";
import type { ReadSql, Row } from "../../postgres/connect.ts";

export interface OrderRow {
  seq: number;
  id: string;
  marketId: string;
  question: string;
  side: Side;
  amountMicro: bigint;
  feeMicro: bigint;
  /** Negative when sold. */
  sharesMicro: bigint;
  yesPricePpm: number;
  ts: number;
  hedgeRef: HedgeRef | undefined;
}

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
  const rows = await sql`${select(sql)} where t.id = ${id} and t.trader_id = ${traderId}`;
  return rows.map(toOrder)[0];
}

function toOrder(row: Row): OrderRow {
  return {
    seq: Number(row.seq),
    id: row.id,
    marketId: row.market_id,
    question: row.question,
    side: row.side,
    amountMicro: BigInt(row.amount_micro),
    feeMicro: BigInt(row.fee_micro),
    sharesMicro: BigInt(row.shares_micro),
    yesPricePpm: row.yes_price_ppm,
    ts: Number(row.ts),
    hedgeRef:
      row.symbol === null
        ? undefined
        : {
            symbol: row.symbol,
            direction: row.direction,
            notional: Number(row.notional_minor),
            externalRef: row.external_ref,
          },
  };
}
