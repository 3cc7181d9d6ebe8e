import { FEES, TREASURY, walletOf } from "../domain/accounts.ts";
import { invariant } from "../domain/fault.ts";
import { type MarketStatus, pricesOf, type Side, statusAt } from "../domain/market/market.ts";
import { usdFromMicro } from "../domain/money.ts";
import type { LoggedRows } from "./logged-rows.ts";

/** What a tenant's users hold, its markets show and its house owns. Amounts are USD; shares are in the API's unit. */
export interface Rebuilt {
  users: { userId: string; balanceUsd: number; positions: { marketId: string; side: Side; shares: number }[] }[];
  markets: { id: string; status: MarketStatus; yesPrice: number; volume: number }[];
  house: { treasuryUsd: number; feesUsd: number };
}

/**
 * The rows in the form for people. Positions are those that may still win: held shares in unsettled markets.
 * @param now decides which markets are closed, milliseconds since the epoch
 */
export function rebuiltOf(rows: LoggedRows, now: number): Rebuilt {
  const held = new Map<string, Rebuilt["users"][number]["positions"]>();
  for (const [, { traderId, marketId, side, sharesMicro }] of rows.of("position")) {
    if (sharesMicro === 0n || rows.get("marketState", marketId)?.status === "settled") continue;
    const positions = held.get(traderId) ?? [];
    positions.push({ marketId, side, shares: usdFromMicro(sharesMicro) });
    held.set(traderId, positions);
  }
  const users = [...rows.of("trader")].map(([userId]) => ({
    userId,
    balanceUsd: usdFromMicro(rows.balance(walletOf(userId))),
    positions: held.get(userId) ?? [],
  }));
  const markets = [...rows.of("market")].map(([id, market]) => {
    const state = rows.get("marketState", id);
    invariant(state, "an entry that creates a market gives it a state");
    const status = statusAt({ status: state.status, closeAt: market.closeAt }, now);
    return { id, status, yesPrice: pricesOf(market, state).yes, volume: usdFromMicro(state.volumeMicro) };
  });
  const byText = (a: string, b: string) => (a < b ? -1 : 1);
  return {
    users: users.sort((a, b) => byText(a.userId, b.userId)),
    markets: markets.sort((a, b) => byText(a.id, b.id)),
    house: { treasuryUsd: usdFromMicro(rows.balance(TREASURY)), feesUsd: usdFromMicro(rows.balance(FEES)) },
  };
}
