import { useEffect, useRef, useState } from "preact/hooks";
import type { OutcomeShape } from "../../domain/market/outcome.ts";
import { type Liveness, useLive } from "./live.ts";
import type { Viewer } from "./viewer.ts";

/** Live data of all markets. */
export interface Prices extends Liveness {
  /** YES prices by market. */
  prices: Readonly<Record<string, number>>;
  /** Statuses by market. */
  statuses: Readonly<Record<string, string>>;
  /** Outcomes by market, as far as they were decided while the reader looked. */
  outcomes: Readonly<Record<string, OutcomeShape<number> | undefined>>;
}

/** YES prices and states of all markets as they change, and the user's portfolio with them. */
export function usePrices(viewer: Viewer, isWanted = true): Prices {
  const [prices, setPrices] = useState<Prices["prices"]>({});
  const [statuses, setStatuses] = useState<Prices["statuses"]>({});
  const [outcomes, setOutcomes] = useState<Prices["outcomes"]>({});
  const { refresh } = viewer;
  const liveness = useLive(
    viewer,
    [],
    ({ event, data }) => {
      if (event === "price") setPrices((before) => ({ ...before, [data.marketId]: data.yesPrice }));
      else if (event === "snapshot") {
        setPrices(Object.fromEntries(data.markets.map(({ marketId, yesPrice }) => [marketId, yesPrice])));
        setStatuses(Object.fromEntries(data.markets.map(({ marketId, status }) => [marketId, status])));
      } else if (event === "market") {
        setStatuses((before) => ({ ...before, [data.marketId]: data.status }));
        setOutcomes((before) => ({ ...before, [data.marketId]: data.outcome }));
        if (data.status === "settled") refresh();
      } else if (event === "fill") refresh();
    },
    isWanted,
  );
  return { prices, statuses, outcomes, ...liveness };
}

/** The least time between two readings because prices moved. */
const REREAD_MS = 4000;
/** After a trade, the readers of its market spread their reads over so long. */
const SPREAD_MS = 1000;
/** Prices travel with six decimals. */
const ROUNDING = 0.000_001_5;

/** Reads the portfolio again after the price of a held market moved: only the server knows the pool, and so what selling pays. */
export function useCurrentValues({ portfolio, refresh }: Viewer, prices: Prices["prices"]): void {
  const readAtMs = useRef(Number.NEGATIVE_INFINITY);
  const isOutdated = portfolio?.positions.some(({ marketId, side, currentPrice }) => {
    const yesPrice = prices[marketId];
    const price = side === "yes" ? yesPrice : yesPrice && 1 - yesPrice;
    return price !== undefined && Math.abs(price - currentPrice) > ROUNDING;
  });
  useEffect(() => {
    if (!isOutdated) return;
    const restMs = readAtMs.current + REREAD_MS - performance.now();
    const timer = setTimeout(
      () => {
        readAtMs.current = performance.now();
        refresh();
      },
      Math.max(restMs, Math.random() * SPREAD_MS),
    );
    return () => clearTimeout(timer);
  }, [isOutdated, portfolio, refresh]);
}
