import { providerOf } from "../domain/accounts.ts";
import { addDays } from "../domain/market/running-sums.ts";
import { startOfDay } from "../domain/time/units.ts";
import type { MarketHour, Trade, TraderDay, Transfer } from "../engine/draft.ts";

/** A provider's incoming and outgoing money of a day. */
export interface FundingDay {
  day: number;
  provider: string;
  inflowMicro: bigint;
  outflowMicro: bigint;
}

/** The market hours completed by these trades, each once, since all trades of a batch have the same time. */
export function hourRows(trades: readonly Trade[]): MarketHour[] {
  return trades.flatMap(({ hourOver }) => hourOver ?? []);
}

/** The trader days completed by these trades, each once: both sides of a market may be in one batch. */
export function traderDayRows(trades: readonly Trade[]): TraderDay[] {
  const rows = new Map<string, TraderDay>();
  for (const { dayOver: over } of trades) {
    if (over === null) continue;
    // Neither identifier contains a newline, so the key is unambiguous.
    const key = `${over.day}\n${over.traderId}\n${over.marketId}`;
    const other = rows.get(key);
    rows.set(key, other ? { ...over, ...addDays(other, over) } : over);
  }
  return [...rows.values()];
}

/** One row per provider and day. The house's own capital is not funding. */
export function fundingDayRows(transfers: readonly Transfer[], ts: number): FundingDay[] {
  const day = startOfDay(ts);
  const rows = new Map<string, FundingDay>();
  const add = (account: string, inMicro: bigint, outMicro: bigint) => {
    const provider = providerOf(account);
    if (provider === undefined) return;
    const { inflowMicro, outflowMicro } = rows.get(provider) ?? { inflowMicro: 0n, outflowMicro: 0n };
    rows.set(provider, { day, provider, inflowMicro: inflowMicro + inMicro, outflowMicro: outflowMicro + outMicro });
  };
  for (const { debit, credit, amountMicro } of transfers) {
    add(debit, amountMicro, 0n);
    add(credit, 0n, amountMicro);
  }
  return [...rows.values()];
}
