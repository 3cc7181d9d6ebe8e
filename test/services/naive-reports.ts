import type { WireResult } from "../../src/contract/operations.ts";
import type { Side } from "../../src/domain/market/market.ts";
import type { TradeResult } from "../../src/engine/trade.ts";

type TradersReport = WireResult<"getTradersReport">;

const DAY_MS = 86_400_000;
const LEADERS = 100;

interface Market {
  id: string;
  question: string;
  category: string;
  settled?: { at: number; outcome: Side };
}

type Numbers =
  | "hedgeRef"
  | "marketId"
  | "side"
  | "action"
  | "amountMicro"
  | "feeMicro"
  | "sharesMicro"
  | "realizedMicro"
  | "ts";

interface Trade extends Pick<TradeResult, Numbers> {
  traderId: string;
  yesPriceAfter: number;
}

const usd = (micro: bigint) => Number(micro) / 1e6;
const total = (amounts: bigint[]) => amounts.reduce((sum, amount) => sum + amount, 0n);
const sixDecimals = (value: number) => Math.round(value * 1e6) / 1e6;

/**
 * The reports as anybody would work them out from a list of everything that happened: no pool, no escrow, no rollup, no
 * double entry.
 */
export class NaiveReports {
  readonly markets: Market[] = [];
  readonly trades: Trade[] = [];
  readonly deposits: { provider: string; amountMicro: bigint; ts: number }[] = [];
  readonly refunds: { provider: string; amountMicro: bigint; ts: number }[] = [];
  readonly withdrawals: { amountMicro: bigint; ts: number; approved: boolean }[] = [];
  readonly #from: number;

  constructor(now: number, periodDays: number, happened?: NaiveReports) {
    this.#from = (Math.floor(now / DAY_MS) - periodDays + 1) * DAY_MS;
    if (happened) {
      this.markets = happened.markets;
      this.trades = happened.trades;
      this.deposits = happened.deposits;
      this.refunds = happened.refunds;
      this.withdrawals = happened.withdrawals;
    }
  }

  heldBy(userId: string, id: string, side: Side): bigint {
    return shares(
      this.trades.filter(({ traderId, marketId }) => traderId === userId && marketId === id),
      side,
    );
  }

  overview(): Omit<WireResult<"getOverviewReport">, "periodDays"> {
    return {
      totalVolume: usd(total(this.#tradesNow().map(({ amountMicro }) => amountMicro))),
      houseRevenue: usd(this.#fees() + this.#spread()),
      settledMarkets: this.#settledNow().length,
      activeTraders: new Set(this.#tradesNow().map(({ traderId }) => traderId)).size,
    };
  }

  house(): Omit<WireResult<"getHouseReport">, "periodDays"> {
    const categories = [...new Set(this.markets.map(({ category }) => category))].toSorted();
    const rows = categories.map((category) => {
      const volume = total(this.#tradesNow(category).map(({ amountMicro }) => amountMicro));
      const revenue = this.#fees(category) + this.#spread(category);
      const margin = volume === 0n ? 0 : sixDecimals(Number(revenue) / Number(volume));
      const idle = volume === 0n && this.#settledNow(category).length === 0;
      return { idle, row: { category, revenue: usd(revenue), volume: usd(volume), netMargin: margin } };
    });
    return {
      totalFees: usd(this.#fees()),
      spreadIncome: usd(this.#spread()),
      byCategory: rows.filter(({ idle }) => !idle).map(({ row }) => row),
    };
  }

  /** All but `sellPnl`, which takes a pool to tell. */
  traders(): Pick<TradersReport, "totals"> & { traders: Omit<TradersReport["traders"][number], "sellPnl">[] } {
    const byTrader = Object.entries(Object.groupBy(this.#tradesNow(), ({ traderId }) => traderId));
    const rows = byTrader.map(([userId, trades = []]) => {
      const volumeMicro = total(trades.map(({ amountMicro }) => amountMicro));
      const { realizedMicro, unrealizedMicro, positions, wins } = this.#results(userId);
      return {
        volumeMicro,
        pnlMicro: realizedMicro + unrealizedMicro,
        row: {
          userId,
          volume: usd(volumeMicro),
          trades: trades.length,
          markets: new Set(trades.map(({ marketId }) => marketId)).size,
          winRate: positions === 0 ? null : sixDecimals(wins / positions),
          realizedPnl: usd(realizedMicro),
          unrealizedPnl: usd(unrealizedMicro),
          totalPnl: usd(realizedMicro + unrealizedMicro),
        },
      };
    });
    rows.sort((a, b) => Number(b.volumeMicro - a.volumeMicro) || (a.row.userId < b.row.userId ? -1 : 1));
    return {
      traders: rows.slice(0, LEADERS).map(({ row }) => row),
      totals: {
        traders: rows.length,
        trades: this.#tradesNow().length,
        volume: usd(total(rows.map(({ volumeMicro }) => volumeMicro))),
        totalPnl: usd(total(rows.map(({ pnlMicro }) => pnlMicro))),
      },
    };
  }

  funding(): Omit<WireResult<"getFundingReport">, "periodDays"> {
    const flow = (moves: { amountMicro: bigint; ts: number }[]) =>
      total(moves.filter(({ ts }) => ts >= this.#from).map(({ amountMicro }) => amountMicro));
    const providers = [...new Set(this.deposits.map(({ provider }) => provider))].map((name) => ({
      provider: name,
      inflows: usd(flow(this.deposits.filter(({ provider }) => provider === name))),
      outflows: usd(flow(this.refunds.filter(({ provider }) => provider === name))),
    }));
    const paidMicro = flow(this.withdrawals.filter(({ approved }) => approved));
    const [inMicro, outMicro] = [flow(this.deposits), paidMicro + flow(this.refunds)];
    const byProvider = [...providers, { provider: "withdrawals", inflows: 0, outflows: usd(paidMicro) }];
    return {
      inflows: usd(inMicro),
      outflows: usd(outMicro),
      owedUsd: 0,
      pendingWithdrawals: usd(total(this.withdrawals.map((each) => (each.approved ? 0n : each.amountMicro)))),
      netMovement: usd(inMicro - outMicro),
      byProvider: byProvider
        .filter(({ inflows, outflows }) => inflows > 0 || outflows > 0)
        .toSorted((a, b) => (a.provider < b.provider ? -1 : 1)),
    };
  }

  risk(): WireResult<"listRisk"> {
    return this.markets
      .filter(({ settled }) => !settled)
      .map(({ id, question }) => {
        const trades = this.trades.filter(({ marketId }) => marketId === id);
        const [yes, no] = [shares(trades, "yes"), shares(trades, "no")];
        const loss = (yes > no ? yes : no) - stakes(trades);
        return { marketId: id, question, maxLiability: Math.max(0, usd(loss)), yesPayout: usd(yes), noPayout: usd(no) };
      });
  }

  /** Tags of purchases since their position was last empty. Each sale takes the same part from them as from the position's cost. */
  hedgeBook(): WireResult<"getHedgeExposure">["hedgeBook"] {
    const book = new Map<string, { refs: NonNullable<Trade["hedgeRef"]>[]; thousandths: bigint }>();
    for (const trade of this.trades) {
      const { hedgeRef, marketId, traderId, side, amountMicro } = trade;
      if (!hedgeRef || this.markets.find(({ id }) => id === marketId)?.settled) continue;
      if (this.heldBy(traderId, marketId, side) === 0n) continue;
      const all = this.trades.filter(
        (each) => each.marketId === marketId && each.traderId === traderId && each.side === side,
      );
      const own = all.slice(all.findLastIndex((_, index) => shares(all.slice(0, index + 1), side) === 0n) + 1);
      if (!own.includes(trade)) continue;
      const at = own.indexOf(trade);
      let part = amountMicro * 1_000_000n * 1_000_000n;
      own.slice(at + 1).forEach((sale, index) => {
        const cost = total(own.slice(0, at + 1 + index).map(costOf));
        if (sale.action === "sell") part = (part * (cost + costOf(sale))) / cost;
      });
      const row = book.get(hedgeRef.symbol) ?? { refs: [], thousandths: 0n };
      book.set(hedgeRef.symbol, { refs: [...row.refs, hedgeRef], thousandths: row.thousandths + part });
    }
    return [...book].toSorted().map(([symbol, { refs, thousandths }]) => ({
      symbol,
      openTrades: refs.length,
      longHedges: refs.filter(({ direction }) => direction === "long").length,
      shortHedges: refs.filter(({ direction }) => direction === "short").length,
      totalNotionalMinor: refs.reduce((sum, { notional }) => sum + notional, 0),
      // Parts of micro-dollars; the few that the divisions above lost do not reach a cent.
      activeCostMinor: Number((thousandths + 1_000_000n) / 10_000_000_000_000_000n),
    }));
  }

  #tradesNow(category?: string): Trade[] {
    const ids = new Set(
      this.markets.filter((each) => each.category === (category ?? each.category)).map(({ id }) => id),
    );
    return this.trades.filter(({ ts, marketId }) => ts >= this.#from && ids.has(marketId));
  }

  #settledNow(category?: string): Market[] {
    return this.markets.filter(
      (each) => each.settled && each.settled.at >= this.#from && each.category === (category ?? each.category),
    );
  }

  #fees(category?: string): bigint {
    return total(this.#tradesNow(category).map(({ feeMicro }) => feeMicro));
  }

  /** What traders staked on each settled market, less what its winning shares were paid. */
  #spread(category?: string): bigint {
    return total(
      this.#settledNow(category).map(({ id, settled }) => {
        const trades = this.trades.filter(({ marketId }) => marketId === id);
        return stakes(trades) - shares(trades, settled?.outcome ?? "yes");
      }),
    );
  }

  #results(userId: string) {
    const sales = this.#tradesNow().filter(({ traderId }) => traderId === userId);
    let realizedMicro = total(sales.map((trade) => trade.realizedMicro ?? 0n));
    let [unrealizedMicro, positions, wins] = [0n, 0, 0];
    for (const { id, settled } of this.markets)
      for (const side of ["yes", "no"] as const) {
        const all = this.trades.filter(({ marketId }) => marketId === id);
        const own = all.filter((trade) => trade.traderId === userId && trade.side === side);
        if (own.length === 0) continue;
        const cost = total(own.map(costOf));
        const held = shares(own, side);
        if (!settled) {
          const yesPpm = BigInt(Math.round((all.at(-1)?.yesPriceAfter ?? 0) * 1e6));
          unrealizedMicro += (held * (side === "yes" ? yesPpm : 1_000_000n - yesPpm)) / 1_000_000n - cost;
        } else if (settled.at >= this.#from) {
          realizedMicro += (settled.outcome === side ? held : 0n) - cost;
          positions += Number(held > 0n);
          wins += Number(held > 0n && settled.outcome === side);
        }
      }
    return { realizedMicro, unrealizedMicro, positions, wins };
  }
}

/** What a purchase adds to a position's cost, and a sale takes from it. */
function costOf({ amountMicro, feeMicro, realizedMicro }: Trade): bigint {
  return realizedMicro === null ? amountMicro : -(amountMicro - feeMicro - realizedMicro);
}

function shares(trades: Trade[], side: Side): bigint {
  const own = trades.filter((trade) => trade.side === side);
  return total(own.map(({ action, sharesMicro }) => (action === "buy" ? sharesMicro : -sharesMicro)));
}

/** What went into the market: purchases without their fees, less what sales took out, the fees on them included. */
function stakes(trades: Trade[]): bigint {
  return total(
    trades.map(({ action, amountMicro, feeMicro }) => (action === "buy" ? amountMicro - feeMicro : -amountMicro)),
  );
}
