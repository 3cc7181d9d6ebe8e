import { providerOf } from "../domain/accounts.ts";
import { DAY_MS, HOUR_MS } from "../domain/time/units.ts";
import type { Trade, Transfer } from "../engine/draft.ts";

/** What a market traded in an hour, and its last price. */
export interface MarketHour {
  marketId: string;
  hour: number;
  volumeMicro: bigint;
  yesPricePpm: number;
  feeMicro: bigint;
}

/** What a trader traded in a market on a day, and what sales brought over their cost. */
export interface TraderDay {
  day: number;
  traderId: string;
  marketId: string;
  volumeMicro: bigint;
  trades: number;
  realizedMicro: bigint;
}

/** Money in from a provider and out to it on a day. */
export interface FundingDay {
  day: number;
  provider: string;
  inflowMicro: bigint;
  outflowMicro: bigint;
}

/** One row per market and hour. */
export function hourRows(trades: readonly Trade[]): MarketHour[] {
  const groups = Map.groupBy(trades, ({ marketId, ts }) => `${startOf(ts, HOUR_MS)} ${marketId}`);
  return [...groups.values()].flatMap((group) => {
    const last = group.at(-1);
    if (!last) return [];
    const volumeMicro = group.reduce((sum, { amountMicro }) => sum + amountMicro, 0n);
    const feeMicro = group.reduce((sum, trade) => sum + trade.feeMicro, 0n);
    const { marketId, ts, yesPricePpm } = last;
    return [{ marketId, hour: startOf(ts, HOUR_MS), volumeMicro, yesPricePpm, feeMicro }];
  });
}

/** One row per trader, market and day. */
export function traderDayRows(trades: readonly Trade[]): TraderDay[] {
  // Neither identifier holds a newline, so the key is unambiguous.
  const groups = Map.groupBy(
    trades,
    ({ traderId, marketId, ts }) => `${startOf(ts, DAY_MS)}\n${traderId}\n${marketId}`,
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const volumeMicro = group.reduce((sum, { amountMicro }) => sum + amountMicro, 0n);
    const realizedMicro = group.reduce((sum, trade) => sum + realizedBy(trade), 0n);
    const { traderId, marketId, ts } = first;
    return [{ day: startOf(ts, DAY_MS), traderId, marketId, volumeMicro, trades: group.length, realizedMicro }];
  });
}

/** A sale realises its net proceeds less the cost that the position gave up; a purchase realises nothing. */
function realizedBy({ amountMicro, feeMicro, releasedMicro }: Trade): bigint {
  return releasedMicro === null ? 0n : amountMicro - feeMicro - releasedMicro;
}

/** One row per provider and day. The house's own capital is not funding. */
export function fundingDayRows(transfers: readonly Transfer[], ts: number): FundingDay[] {
  const day = startOf(ts, DAY_MS);
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

function startOf(ts: number, spanMs: number): number {
  return ts - (ts % spanMs);
}
