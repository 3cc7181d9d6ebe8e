import type { Side } from "../../domain/market/market.ts";
import { bigint, rowReader, text, whole } from "../../ledger/codec.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { PRICED, pricedColumns } from "../priced.ts";

const POSITION = {
  marketId: text(),
  question: text(),
  side: text<Side>(),
  sharesMicro: bigint(),
  costMicro: bigint(),
};

const toOpen = rowReader({
  ...POSITION,
  ...PRICED,
});
export type OpenPosition = ReturnType<typeof toOpen>;

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
  return rows.map(toOpen);
}

const toSettled = rowReader({
  ...POSITION,
  outcome: text<Side>(),
  settledAt: whole(),
});
export type SettledPosition = ReturnType<typeof toSettled>;

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
  return rows.map(toSettled);
}
