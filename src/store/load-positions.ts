import type { Side } from "../domain/market.ts";
import { type Portfolio, type Position, positionKey } from "../engine/rows.ts";
import { textArray } from "./arrays.ts";
import type { Sql } from "./connect.ts";

interface PositionRow {
  trader_id: string;
  market_id: string;
  side: Side;
  shares_micro: string;
  cost_micro: string;
  version: string;
}

const toPosition = (row: PositionRow): Position => ({
  traderId: row.trader_id,
  marketId: row.market_id,
  side: row.side,
  sharesMicro: BigInt(row.shares_micro),
  costMicro: BigInt(row.cost_micro),
  version: Number(row.version),
});

/** Every trader asked for gets a portfolio, an empty one if it holds nothing. */
export async function loadPortfolios(sql: Sql, traderIds: string[]): Promise<Map<string, Portfolio>> {
  const rows = await sql<PositionRow[]>`
    select p.trader_id, p.market_id, p.side, p.shares_micro, p.cost_micro, p.version
      from position p
      join book b on b.market_id = p.market_id
     where p.trader_id = any(${textArray(traderIds)}::text[])
       and b.status <> 'settled'`;
  const portfolios = new Map<string, { positions: Map<string, Position>; exposureMicro: bigint }>(
    traderIds.map((id) => [id, { positions: new Map(), exposureMicro: 0n }]),
  );
  for (const position of rows.map(toPosition)) {
    const portfolio = portfolios.get(position.traderId);
    if (!portfolio) continue;
    portfolio.positions.set(positionKey(position.marketId, position.side), position);
    portfolio.exposureMicro += position.costMicro;
  }
  return portfolios;
}

/** Every position in the markets, closed ones included. */
export async function loadPositions(sql: Sql, marketIds: string[]): Promise<Position[]> {
  const rows = await sql<PositionRow[]>`
    select trader_id, market_id, side, shares_micro, cost_micro, version
      from position
     where market_id = any(${textArray(marketIds)}::text[])
     order by trader_id, side`;
  return rows.map(toPosition);
}
