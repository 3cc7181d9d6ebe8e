import { usdFromMicro } from "../domain/money.ts";
import type { Market, MarketState } from "../engine/rows.ts";
import type { LoggedRows } from "./logged-rows.ts";

/** What a window of a tenant's life comes to. Amounts in USD. A type, so that the compiler knows it to be plain JSON. */
export type ReplayFigures = {
  trades: number;
  /** Who traded. */
  users: number;
  /** Gross, fees included. */
  volumeUsd: number;
  feesUsd: number;
  /** Fees, and what the markets that settled won or lost. */
  houseResultUsd: number;
  /** The most that the house would have lost at any one moment, had all unsettled markets settled the worse way. */
  worstCaseUsd: number;
};

class Sums {
  trades = 0;
  readonly users = new Set<string>();
  volumeMicro = 0n;
  feeMicro = 0n;
  settledMicro = 0n;
  /** As things stand, and at the worst so far. */
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

/** Adds up what happens to rows, in all and by the category of the market. */
export class Tally {
  readonly #rows: LoggedRows;
  readonly #all = new Sums();
  readonly #byCategory = new Map<string, Sums>();
  /** What each unsettled market may cost, micro-dollars. */
  readonly #risks = new Map<string, bigint>();

  /** @param rows as the window finds them */
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

  /** @param houseResultMicro what the house got back beyond its funds */
  settlement(marketId: string, houseResultMicro: bigint): void {
    for (const sums of this.#sumsOf(marketId)) sums.settledMicro += houseResultMicro;
    this.follow(marketId);
  }

  /** Takes over what a market may cost from now on. */
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

/** What the house loses if the market settles the worse way: its funds less what comes back to it. */
function riskOf(market: Market, state: MarketState): bigint {
  if (state.status === "settled") return 0n;
  const [yes, no] = [state.yesMicro + market.houseYesMicro, state.noMicro + market.houseNoMicro];
  const lossMicro = market.fundMicro - (yes < no ? yes : no);
  return lossMicro > 0n ? lossMicro : 0n;
}
