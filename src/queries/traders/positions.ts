import type { Side } from "../../domain/market/market.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { type Priced, pricedColumns, toPriced } from "../priced.ts";

export interface OpenPosition extends Priced {
  marketId: string;
  question: string;
  side: Side;
  sharesMicro: bigint;
  costMicro: bigint;
}

/** A trader's positions in markets not settled, with what is needed to price them. */
export async function listOpenPositions(sql: ReadSql, traderId: string): Promise<OpenPosition[]> {
  const rows = await sql`
    select p.market_id, m.question, p.side, p.shares_micro, p.cost_micro, ${pricedColumns(sql)}
      from position p
      join market m on m.id = p.market_id
      join book b on b.market_id = p.market_id
     where p.trader_id = ${traderId}
       and b.status <> 'settled'
       and p.shares_micro > 0
     order by m.close_at, m.id, p.side`;
  return rows.map((row) => ({
    marketId: row.market_id,
    question: row.question,
    side: row.side,
    sharesMicro: BigInt(row.shares_micro),
    costMicro: BigInt(row.cost_micro),
    ...toPriced(row),
  }));
}

export interface SettledPosition {
  marketId: string;
  question: string;
  side: Side;
  outcome: Side;
  sharesMicro: bigint;
  costMicro: bigint;
  settledAt: number;
}

/** A trader's last positions in settled markets, newest first. What was sold before the end is not among them. */
export async function listSettledPositions(sql: ReadSql, traderId: string, limit: number): Promise<SettledPosition[]> {
  const rows = await sql`
    select p.market_id, m.question, p.side, b.outcome, p.shares_micro, p.cost_micro, b.settled_at
      from position p
      join market m on m.id = p.market_id
      join book b on b.market_id = p.market_id
     where p.trader_id = ${traderId}
       and b.status = 'settled'
       and p.shares_micro > 0
     order by b.settled_at desc, p.market_id, p.side
     limit ${limit}`;
  return rows.map((row) => ({
    marketId: row.market_id,
    question: row.question,
    side: row.side,
    outcome: row.outcome,
    sharesMicro: BigInt(row.shares_micro),
    costMicro: BigInt(row.cost_micro),
    settledAt: Number(row.settled_at),
  }));
}
