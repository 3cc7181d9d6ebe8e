import { pendingOf, receivableOf, walletOf } from "../../domain/accounts.ts";
import type { IsSealed } from "../../domain/audit/seal.ts";
import type { Trader } from "../../engine/rows.ts";
import { loadTraders } from "../../ledger/standing.ts";
import type { ReadSql } from "../../postgres/connect.ts";

/** In micro-dollars. */
export interface Wallet {
  balanceUsd: bigint;
  exposureUsd: bigint;
  pendingWithdrawalsUsd: bigint;
  owedUsd: bigint;
}

/** A user's standing; undefined for a user whom no entry has named yet. */
export async function readTrader(sql: ReadSql, traderId: string, isSealed: IsSealed): Promise<Trader | undefined> {
  return (await loadTraders(sql, [traderId], isSealed)).get(traderId);
}

/**
 * A user's money; zeros for a user whom no entry has named yet. One statement, so that money that a trade moves from
 * the balance into a position is never counted twice, nor left out.
 */
export async function readWallet(sql: ReadSql, traderId: string): Promise<Wallet> {
  const [row] = await sql`
    select (select balance_micro from account where id = ${walletOf(traderId)}) as balance,
           (select balance_micro from account where id = ${pendingOf(traderId)}) as pending,
           (select -balance_micro from account where id = ${receivableOf(traderId)}) as owed,
           (select sum(p.cost_micro)
              from position p
              join book b on b.market_id = p.market_id
             where p.trader_id = ${traderId}
               and b.status <> 'settled') as exposure`;
  return {
    balanceUsd: BigInt(row?.balance ?? 0),
    exposureUsd: BigInt(row?.exposure ?? 0),
    pendingWithdrawalsUsd: BigInt(row?.pending ?? 0),
    owedUsd: BigInt(row?.owed ?? 0),
  };
}
