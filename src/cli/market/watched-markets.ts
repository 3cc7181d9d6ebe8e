import type { StreamEvent, StreamEvents } from "../../contract/resources/stream.ts";
import { time, usd } from "../output/cells.ts";

export interface Watched {
  marketId: string;
  /** Undefined until the question was read. */
  question: string | undefined;
  status: StreamEvents["market"]["status"];
  outcome: StreamEvents["market"]["outcome"];
  yesPrice: number;
  closeAt: string | undefined;
  /** YES prices since the watch began, the current one last. */
  prices: number[];
  lastTrade: string | undefined;
  /** The latest trades, newest first. */
  trades: string[];
}

/** Enough for the widest chart; older prices are thinned out. */
const MAX_PRICES = 500;
const MAX_TRADES = 8;

/** The state of the watched markets after the events so far. */
export class WatchedMarkets {
  readonly #markets = new Map<string, Watched>();

  /** In the order of the snapshot; newer markets come last. */
  get all(): readonly Watched[] {
    return [...this.#markets.values()];
  }

  /** The ids of markets whose question is not known yet. */
  get unnamed(): string[] {
    return this.all.filter(({ question }) => question === undefined).map(({ marketId }) => marketId);
  }

  name(named: readonly { id: string; question: string; closeAt: string; yesPrice: number }[]): void {
    for (const { id, question, closeAt, yesPrice } of named) {
      const market = this.#markets.get(id);
      if (!market) continue;
      market.question = question;
      market.closeAt ??= closeAt;
      // The market was created after the snapshot, and its event carries no price.
      if (market.prices.length === 0) this.#moveTo(market, yesPrice);
    }
  }

  take({ event, data }: StreamEvent): void {
    switch (event) {
      case "snapshot":
        for (const { marketId, status, closeAt, yesPrice } of data.markets) {
          const market = this.#market(marketId);
          Object.assign(market, { status, closeAt });
          this.#moveTo(market, yesPrice);
        }
        break;
      case "price":
        this.#moveTo(this.#market(data.marketId), data.yesPrice);
        break;
      case "trade": {
        const market = this.#market(data.marketId);
        const trade = `${time(data.ts, { seconds: true }).slice(11)} ${data.side.toUpperCase()} ${usd(data.amount)}`;
        market.lastTrade = trade;
        market.trades = [trade, ...market.trades].slice(0, MAX_TRADES);
        break;
      }
      case "market":
        Object.assign(this.#market(data.marketId), { status: data.status, outcome: data.outcome });
        break;
    }
  }

  #market(marketId: string): Watched {
    const known = this.#markets.get(marketId);
    if (known) return known;
    const market: Watched = {
      marketId,
      question: undefined,
      status: "open",
      outcome: undefined,
      yesPrice: 0,
      closeAt: undefined,
      prices: [],
      lastTrade: undefined,
      trades: [],
    };
    this.#markets.set(marketId, market);
    return market;
  }

  #moveTo(market: Watched, yesPrice: number): void {
    market.yesPrice = yesPrice;
    market.prices = [...market.prices, yesPrice].slice(-MAX_PRICES);
  }
}
