import { readPages } from "../../../client/pages.ts";
import type { Api, WireResult } from "../../../contract/operations.ts";
import { microFromDecimal, usdFromMicro } from "../../../domain/money.ts";

type Entry = WireResult<"listAudit">["entries"][number];
type Market = Pick<WireResult<"getMarket">, "id" | "question" | "outcome" | "yesPrice" | "noPrice">;

/** What remains of a trader's trades in a market, in millionths. */
interface Sums {
  marketId: string;
  yes: bigint;
  no: bigint;
  cost: bigint;
}

/** Shares in a market, and what they are worth at its prices or were paid. Dollars. */
export interface Holding {
  market: Market;
  yes: number;
  no: number;
  cost: number;
  worth: number;
}

export interface Holdings {
  /** Last traded first. */
  items: Holding[];
  /** How many further markets there are. */
  more: number;
  /** Of all sales, less what the sold shares had cost. */
  fromSales: number;
  trades: number;
  /** Whether all trades were read, and their open positions cost what the ledger says. */
  isWhole: boolean;
}

/** The most trades, and the most markets, that are read. */
export const TRADES = 1000;
const MARKETS = 25;

/**
 * The API has no list of another person's positions, so they are summed from the trader's own trades in the log, which
 * an index serves. Trades that an operator made in the trader's name are not among them; the exposure shows it.
 */
export async function readHoldings(api: Api, id: string): Promise<Holdings> {
  const [{ items: trades, nextCursor }, { exposureUsd }] = await Promise.all([
    readPages(TRADES, async (page) => {
      const { entries, cursor } = await api.listAudit({ actor: `user:${id}`, type: "trade.executed", ...page });
      return { items: entries, nextCursor: cursor };
    }),
    api.getUser({ id }),
  ]);
  const { held, fromSales } = sumsOf(trades);
  const read = held.slice(0, MARKETS);
  const markets = await Promise.all(read.map(({ marketId }) => api.getMarket({ id: marketId })));
  const items = read.flatMap((sums, index) => {
    const market = markets[index];
    return market ? [holdingOf(sums, market)] : [];
  });
  const more = held.length - read.length;
  const openCost = items.reduce((sum, { market, cost }) => (market.outcome === null ? sum + cost : sum), 0);
  const isWhole = nextCursor === null && more === 0 && Math.abs(openCost - exposureUsd) < 1e-6;
  return { items, more, fromSales: usdFromMicro(fromSales), trades: trades.length, isWhole };
}

/** @param trades newest first */
function sumsOf(trades: readonly Entry[]): { held: Sums[]; fromSales: bigint } {
  const byMarket = new Map<string, Sums>();
  let fromSales = 0n;
  for (const { payload } of trades) {
    const part = (name: string): bigint => microFromDecimal(String(payload[name] ?? "0"));
    const marketId = String(payload.marketId);
    const sums = byMarket.get(marketId) ?? { marketId, yes: 0n, no: 0n, cost: 0n };
    const isSale = payload.action === "sell";
    const side = payload.side === "yes" ? "yes" : "no";
    sums[side] += isSale ? -part("shares") : part("shares");
    sums.cost += isSale ? -part("cost") : part("amount");
    if (isSale) fromSales += part("amount") - part("fee") - part("cost");
    byMarket.set(marketId, sums);
  }
  return { held: [...byMarket.values()].filter(({ yes, no }) => yes > 0n || no > 0n), fromSales };
}

function holdingOf(sums: Sums, market: Market): Holding {
  const [yes, no, cost] = [usdFromMicro(sums.yes), usdFromMicro(sums.no), usdFromMicro(sums.cost)];
  if (market.outcome === "void") return { market, yes, no, cost, worth: cost };
  const yesShare = yesShareOf(market);
  const noShare = market.outcome === null ? market.noPrice : 1 - yesShare;
  return { market, yes, no, cost, worth: yes * yesShare + no * noShare };
}

/** What a Yes share is worth at the market's price, or was paid. */
function yesShareOf({ outcome, yesPrice }: Market): number {
  if (outcome === null) return yesPrice;
  if (typeof outcome !== "string") return outcome.yes;
  return outcome === "yes" ? 1 : 0;
}
