import { usdFromMicro } from "../domain/money.ts";
import type { Market, MarketState } from "../engine/rows.ts";
import type { LoggedRows } from "./logged-rows.ts";

/** The totals of a window of a tenant's life. Amounts in USD. A type, so that the compiler accepts it as JSON. */
export type ReplayFigures = {
  trades: number;
  /** The number of trading users. */
  users: number;
  /** Gross, fees included. */
  volumeUsd: number;
  feesUsd: number;
  /** Fees less those that voids gave back, and the gains or losses of settled markets. */
  houseResultUsd: number;
  /** The house's largest possible loss at any moment, if all unsettled markets had settled the worse way. */
  worstCaseUsd: number;
};

class Sums {
  trades = 0;
  readonly users = new Set<string>();
  volumeMicro = 0n;
  feeMicro = 0n;
  settledMicro = 0n;
  /** The current value, and the worst so far. */
  riskMicro = 0n;
  worstMicro = 0n;

  get figures(): ReplayFigures {
    return {
      trades: this.trades,
      users: this.users.size,
      volumeUsd: usdFromMicro(this.volumeMicro),
      feesUsd: usdFromMicro(this.feeMicro),
      houseResultUsd: usdFromMicro(this.feeMicro + this.settledMicro),
      worstCaseUsd: usdFromMicro(this.worstMicro),
    };
  }
}

/** Adds up changes of rows, in total and by the market's category. */
export class Tally {
  readonly #rows: LoggedRows;
  readonly #all = new Sums();
  readonly #byCategory = new Map<string, Sums>();
  /** The possible loss in each unsettled market, micro-dollars. */
  readonly #risks = new Map<string, bigint>();

  /** @param rows the rows at the window's start */
  constructor(rows: LoggedRows) {
    this.#rows = rows;
    for (const [id] of rows.of("market")) this.follow(id);
  }

  trade(trade: { marketId: string; traderId: string; amountMicro: bigint; feeMicro: bigint }): void {
    for (const sums of this.#sumsOf(trade.marketId)) {
      sums.trades += 1;
      sums.users.add(trade.traderId);
      sums.volumeMicro += trade.amountMicro;
      sums.feeMicro += trade.feeMicro;
    }
    this.follow(trade.marketId);
  }

  /** @param houseResultMicro the house's returns in excess of its funds, or the change of them by a correction */
  end(marketId: string, houseResultMicro: bigint): void {
    for (const sums of this.#sumsOf(marketId)) sums.settledMicro += houseResultMicro;
    this.follow(marketId);
  }

  /** The house's money that opened a market. */
  fundOf(marketId: string): bigint {
    return this.#rows.get("market", marketId)?.fundMicro ?? 0n;
  }

  /** Updates a market's possible loss. */
  follow(marketId: string): void {
    const [market, state] = [this.#rows.get("market", marketId), this.#rows.get("marketState", marketId)];
    const riskMicro = market && state ? riskOf(market, state) : 0n;
    const change = riskMicro - (this.#risks.get(marketId) ?? 0n);
    if (change === 0n) return;
    this.#risks.set(marketId, riskMicro);
    for (const sums of this.#sumsOf(marketId)) {
      sums.riskMicro += change;
      if (sums.riskMicro > sums.worstMicro) sums.worstMicro = sums.riskMicro;
    }
  }

  get all(): ReplayFigures {
    return this.#all.figures;
  }

  get categories(): Iterable<string> {
    return this.#byCategory.keys();
  }

  of(category: string): ReplayFigures {
    return (this.#byCategory.get(category) ?? new Sums()).figures;
  }

  #sumsOf(marketId: string): readonly [Sums, Sums] {
    const category = this.#rows.get("market", marketId)?.category ?? "";
    const own = this.#byCategory.get(category) ?? new Sums();
    this.#byCategory.set(category, own);
    return [this.#all, own];
  }
}

/** The house's loss if the market settles the worse way: its funds less the returns. */
function riskOf(market: Market, state: MarketState): bigint {
  if (state.status === "settled") return 0n;
  const [yes, no] = [state.yesMicro + market.houseYesMicro, state.noMicro + market.houseNoMicro];
  const lossMicro = market.fundMicro - (yes < no ? yes : no);
  return lossMicro > 0n ? lossMicro : 0n;
}
