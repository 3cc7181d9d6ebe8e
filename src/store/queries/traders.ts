import { pendingOf, type Tables, type Trader, walletOf } from "../../engine/rows.ts";
import type { ReadSql } from "../connect.ts";
import { loadRows } from "../load.ts";

export interface TraderView {
  trader: Trader | undefined;
  /** Micro-dollars. */
  wallet: { balanceUsd: bigint; exposureUsd: bigint; pendingWithdrawalsUsd: bigint };
}

/** A user with its money; zeros for one that nobody has named yet. */
export async function readTrader(sql: ReadSql, traderId: string): Promise<TraderView> {
  const [wallet, pending] = [walletOf(traderId), pendingOf(traderId)];
  const loaded = await loadRows(sql, [
    { table: "trader", key: traderId },
    { table: "portfolio", key: traderId },
    { table: "account", key: wallet },
    { table: "account", key: pending },
  ]);
  const find = <T extends "trader" | "portfolio" | "account">(table: T, key: string) =>
    (loaded.find((each) => each.table === table && each.key === key)?.row ?? undefined) as Tables[T] | undefined;
  return {
    trader: find("trader", traderId),
    wallet: {
      balanceUsd: find("account", wallet)?.balanceMicro ?? 0n,
      exposureUsd: find("portfolio", traderId)?.exposureMicro ?? 0n,
      pendingWithdrawalsUsd: find("account", pending)?.balanceMicro ?? 0n,
    },
  };
}
