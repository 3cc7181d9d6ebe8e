import type { Input, Result } from "../../contract/operations.ts";
import { type Command, needsOf } from "../../engine/commands.ts";
import type { Reader } from "../../engine/draft.ts";
import { fillBuy, fillSell } from "../../engine/fill.ts";
import { RowMap } from "../../engine/row-map.ts";
import type { Table, Tables } from "../../engine/rows.ts";
import { loadRows } from "../../ledger/load.ts";
import { readClock } from "../../postgres/database-time.ts";
import type { ServiceContext } from "../context.ts";
import type { Caller } from "../invoke.ts";

const OF_A_USER: readonly Table[] = ["trader", "portfolio", "account"];

/**
 * The engine's own computation of a trade on freshly read rows; nothing is stored. Without a user only the market's and
 * the tenant's refusals are known.
 */
export async function quoteTrade(
  { pool, isSealed }: ServiceContext,
  input: Input<"quoteTrade">,
  { user }: Caller,
): Promise<Result<"quoteTrade">> {
  const { marketId, selection, amount, shares, maxAvgPrice, minShares, minAvgPrice } = input;
  const { side, action } = selection;
  const terms = { marketId, side, claimedJurisdiction: user?.jurisdiction };
  const purchase = { ...terms, amountMicro: amount ?? 0n, maxAvgPrice, minSharesMicro: minShares };
  const command: Command = { type: "placeTrade", id: "", traderId: user?.id ?? "", ...purchase };
  const needs = needsOf(command).filter(({ table }) => user || !OF_A_USER.includes(table));
  const [loaded, now] = await pool.snapshot((sql) => Promise.all([loadRows(sql, needs, isSealed), readClock(sql)]));
  const rows = new RowMap<Tables[Table] | null>();
  for (const { table, key, row } of loaded) rows.set(table, key, row);
  const state: Reader = {
    get: <T extends Table>(table: T, key: string) => (rows.get(table, key) ?? undefined) as Tables[T] | undefined,
  };
  const fill =
    action === "sell"
      ? fillSell(state, { ...terms, sharesMicro: shares ?? 0n, minAvgPrice }, user?.id, now)
      : fillBuy(state, purchase, user?.id, now);
  return {
    marketId,
    side,
    ...(action === "sell" ? { action } : {}),
    amount: fill.amountMicro,
    shares: fill.sharesMicro,
    avgPrice: fill.avgPrice,
    ts: now,
    fee: fill.feeMicro,
    yesPriceAfter: fill.yesPriceAfter,
  };
}
