import type { Side } from "../domain/market/market.ts";
import { type Position, positionKey } from "../engine/rows.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import type { Loaded } from "./load.ts";

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

/** A portfolio for every trader asked for, and the positions in it. */
export async function loadPortfolios(sql: ReadSql, traderIds: string[]): Promise<Loaded[]> {
  const rows = await sql<PositionRow[]>`
    select p.trader_id, p.market_id, p.side, p.shares_micro, p.cost_micro, p.version
      from position p
      join book b on b.market_id = p.market_id
     where p.trader_id = any(${textArray(traderIds)}::text[])
       and b.status <> 'settled'`;
  const positions = rows.map(toPosition);
  const exposures = new Map(traderIds.map((id) => [id, 0n]));
  for (const { traderId, costMicro } of positions) exposures.set(traderId, (exposures.get(traderId) ?? 0n) + costMicro);
  return [
    ...[...exposures].map(([key, exposureMicro]): Loaded => ({ table: "portfolio", key, row: { exposureMicro } })),
    ...positions.map(
      (row): Loaded => ({ table: "position", key: positionKey(row.traderId, row.marketId, row.side), row }),
    ),
  ];
}

/** Every position in the markets, closed ones included. */
export async function loadPositions(sql: ReadSql, marketIds: string[]): Promise<Position[]> {
  const rows = await sql<PositionRow[]>`
    select trader_id, market_id, side, shares_micro, cost_micro, version
      from position
     where market_id = any(${textArray(marketIds)}::text[])
     order by trader_id, side`;
  return rows.map(toPosition);
}
