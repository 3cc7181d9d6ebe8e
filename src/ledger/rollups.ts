import { CAPITAL } from "../engine/rows.ts";
import type { Batch } from "./commit.ts";

export const HOUR_MS = 3_600_000;
/** UTC days: the epoch began at midnight. */
export const DAY_MS = 24 * HOUR_MS;

type Trades = Batch["trades"];
type Row = (string | bigint | number)[];

const EXTERNAL = "external:";

/** One row per market and hour: the volume traded, the fees in it, and the last price. */
export function hourRows(trades: Trades): Row[] {
  const groups = Map.groupBy(trades, ({ marketId, ts }) => `${startOf(ts, HOUR_MS)} ${marketId}`);
  return [...groups.values()].flatMap((group) => {
    const last = group.at(-1);
    if (!last) return [];
    const volumeMicro = group.reduce((sum, { amountMicro }) => sum + amountMicro, 0n);
    const feeMicro = group.reduce((sum, trade) => sum + trade.feeMicro, 0n);
    return [[last.marketId, startOf(last.ts, HOUR_MS), volumeMicro, last.yesPricePpm, feeMicro]];
  });
}

/** One row per trader, market and day: the volume traded, the number of trades, and what sales brought over their cost. */
export function traderDayRows(trades: Trades): Row[] {
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
    return [[startOf(first.ts, DAY_MS), first.traderId, first.marketId, volumeMicro, group.length, realizedMicro]];
  });
}

/** A sale realises its net proceeds less the cost that the position gave up; a purchase realises nothing. */
function realizedBy({ amountMicro, feeMicro, releasedMicro }: Trades[number]): bigint {
  return releasedMicro === null ? 0n : amountMicro - feeMicro - releasedMicro;
}

/** One row per provider and day: money in from it and out to it. The house's own capital is not funding. */
export function fundingDayRows(transfers: Batch["transfers"], ts: number): Row[] {
  const providers = new Map<string, { inMicro: bigint; outMicro: bigint }>();
  const add = (account: string, inMicro: bigint, outMicro: bigint) => {
    if (!isProvider(account)) return;
    const sums = providers.get(account) ?? { inMicro: 0n, outMicro: 0n };
    providers.set(account, { inMicro: sums.inMicro + inMicro, outMicro: sums.outMicro + outMicro });
  };
  for (const { debit, credit, amountMicro } of transfers) {
    add(debit, amountMicro, 0n);
    add(credit, 0n, amountMicro);
  }
  const day = startOf(ts, DAY_MS);
  return [...providers].map(([account, sums]) => [day, account.slice(EXTERNAL.length), sums.inMicro, sums.outMicro]);
}

function isProvider(account: string): boolean {
  return account.startsWith(EXTERNAL) && account !== CAPITAL;
}

function startOf(ts: number, spanMs: number): number {
  return ts - (ts % spanMs);
}
