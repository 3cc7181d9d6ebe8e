import { FEES, prefixOf, TREASURY } from "../domain/accounts.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { pricesOf, statusAt } from "../domain/market/market.ts";
import { microFromDecimal, usdFromMicro } from "../domain/money.ts";
import type { Trade } from "../engine/draft.ts";
import type { Market, MarketState, Withdrawal } from "../engine/rows.ts";
import type { LoggedRows } from "./logged-rows.ts";

/** One value of a table, or of what a journal's rows add up to, that is not what the log states. */
export interface Difference {
  /** The table. */
  what: string;
  /** Of the row: a market, a user and a market and a side, or an account, where a wallet goes by its user. */
  id: string;
  field: string;
  /** What the log states, and what the table holds; null for no row, or nothing stated. */
  log: string | number | null;
  table: string | number | null;
}

/** What is compared of a row, by field. Amounts and shares in micro-units. */
export type Figures = Readonly<Record<string, bigint | number | string | null>>;

/** A row as the database has it. */
export type FiguredRow = readonly [id: string, figures: Figures];

/**
 * Compares the rows of a table, page by page, with those that the log states. A row that holds nothing is as good as none.
 * @param stated is used up
 */
export async function compareRows(
  what: string,
  stated: Map<string, Figures>,
  pages: AsyncIterable<readonly FiguredRow[]>,
): Promise<Difference[]> {
  const found: Difference[] = [];
  for await (const page of pages)
    for (const [id, table] of page) {
      found.push(...differing(what, id, stated.get(id), table));
      stated.delete(id);
    }
  for (const [id, log] of stated) found.push(...differing(what, id, log, undefined));
  return found;
}

function differing(what: string, id: string, log: Figures | undefined, table: Figures | undefined): Difference[] {
  return Object.keys(log ?? table ?? {}).flatMap((field) => {
    const [inLog, inTable] = [log?.[field], table?.[field]];
    if (inLog === inTable || (isNothing(inLog) && isNothing(inTable))) return [];
    return [{ what, id: id.replace(WALLET, ""), field, log: shown(inLog), table: shown(inTable) }];
  });
}

const WALLET = new RegExp(`^${prefixOf("wallet")}`);

const isNothing = (value: Figures[string] | undefined) => value === undefined || value === null || value === 0n;

function shown(value: Figures[string] | undefined): Difference["log"] {
  if (value === undefined || value === null) return null;
  return typeof value === "bigint" ? usdFromMicro(value) : value;
}

/** An account as its row has it. */
export function accountFigures({ id, balanceMicro }: { id: string; balanceMicro: bigint }): FiguredRow {
  const field = id === TREASURY ? "treasuryUsd" : id === FEES ? "feesUsd" : "balanceUsd";
  return [id, { [field]: balanceMicro }];
}

/** The balances of all accounts. */
export function statedBalances(rows: LoggedRows): Map<string, Figures> {
  return mapped(rows.of("account"), ([, account]) => accountFigures(account));
}

/** Shares and their cost, by user, market and side. */
export function statedPositions(rows: LoggedRows): Map<string, Figures> {
  return mapped(rows.of("position"), ([, { traderId, marketId, side, sharesMicro, costMicro }]) => [
    `${traderId} ${marketId} ${side}`,
    { shares: sharesMicro, costUsd: costMicro },
  ]);
}

/** What trades add up to in each market, and the price that the last one left. */
export function statedVolumes(rows: LoggedRows): Map<string, Figures> {
  const traded = [...rows.of("marketState")].filter(([, { volumeMicro }]) => volumeMicro > 0n);
  return mapped(traded, ([id, { volumeMicro, yesPricePpm }]) => [
    id,
    { volume: volumeMicro, yesPrice: yesPricePpm / 1e6 },
  ]);
}

/** What a market shows, from its terms and its state. */
export function marketFigures(
  market: Pick<Market, "kind" | "fundMicro" | "p0Ppm" | "closeAt" | "question">,
  state: Pick<MarketState, "status" | "yesMicro" | "noMicro" | "volumeMicro" | "outcome" | "yesPricePpm">,
  now: number,
): Figures {
  const status = statusAt({ status: state.status, closeAt: market.closeAt }, now);
  const yesPrice = pricesOf(market, state).yes;
  return {
    ...{ status, yesPrice, volume: state.volumeMicro, poolYes: state.yesMicro, poolNo: state.noMicro },
    ...{ outcome: state.outcome, lastPrice: state.yesPricePpm / 1e6 },
    ...{ question: market.question, p0: market.p0Ppm / 1e6, liquidityUsd: market.fundMicro },
    closeAt: new Date(market.closeAt).toISOString(),
  };
}

/** What each market shows. */
export function statedMarkets(rows: LoggedRows, now: number): Map<string, Figures> {
  const both = [...rows.of("market")].flatMap(([id, market]) => {
    const state = rows.get("marketState", id);
    return state ? [[id, marketFigures(market, state, now)] as const] : [];
  });
  return new Map(both);
}

/** A withdrawal as its row has it. */
export function withdrawalFigures(row: Pick<Withdrawal, "id" | "traderId" | "amountMicro" | "status">): FiguredRow {
  return [row.id, { userId: row.traderId, amountUsd: row.amountMicro, status: row.status }];
}

/** Withdrawals, decided or not. */
export function statedWithdrawals(rows: LoggedRows): Map<string, Figures> {
  return mapped(rows.of("withdrawal"), ([, row]) => withdrawalFigures(row));
}

/** What a trade's row has beside what adds up to positions and volumes. */
export function tradeFigures(trade: Pick<Trade, "id" | "feeMicro" | "yesPricePpm" | "ts">): FiguredRow {
  const [yesPrice, ts] = [trade.yesPricePpm / 1e6, new Date(trade.ts).toISOString()];
  return [trade.id, { feeUsd: trade.feeMicro, yesPrice, ts }];
}

/** The trade that an entry tells of. */
export function statedTrade({ payload, at }: { payload: AuditPayloads["trade.executed"]; at: number }): FiguredRow {
  const yesPricePpm = Math.round(Number(payload.yesPriceAfter) * 1e6);
  return tradeFigures({ id: payload.tradeId, feeMicro: microFromDecimal(payload.fee), yesPricePpm, ts: at });
}

function mapped<Row>(rows: Iterable<Row>, figuresOf: (row: Row) => FiguredRow): Map<string, Figures> {
  const stated = new Map<string, Figures>();
  for (const row of rows) stated.set(...figuresOf(row));
  return stated;
}
