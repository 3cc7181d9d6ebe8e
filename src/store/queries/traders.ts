import { pendingOf, type Trader, walletOf } from "../../engine/rows.ts";
import type { ReadSql } from "../connect.ts";
import { toTrader, traderColumns } from "../load.ts";

export interface TraderView {
  trader: Trader | undefined;
  /** Micro-dollars. */
  wallet: { balanceUsd: bigint; exposureUsd: bigint; pendingWithdrawalsUsd: bigint };
}

/**
 * A user with its money; zeros for one that nobody has named yet. One statement, so that what a trade moves from the
 * balance into a position is never in both, nor in neither.
 */
export async function readTrader(sql: ReadSql, traderId: string): Promise<TraderView> {
  const [row] = await sql`
    select ${traderColumns(sql)},
           (select balance_micro from account where id = ${walletOf(traderId)}) as balance,
           (select balance_micro from account where id = ${pendingOf(traderId)}) as pending,
           (select sum(p.cost_micro)
              from position p
              join book b on b.market_id = p.market_id
             where p.trader_id = ${traderId}
               and b.status <> 'settled') as exposure
      from (select 1) as always
      left join trader t on t.id = ${traderId}`;
  return {
    trader: row && row.id !== null ? toTrader(row) : undefined,
    wallet: {
      balanceUsd: BigInt(row?.balance ?? 0),
      exposureUsd: BigInt(row?.exposure ?? 0),
      pendingWithdrawalsUsd: BigInt(row?.pending ?? 0),
    },
  };
}
