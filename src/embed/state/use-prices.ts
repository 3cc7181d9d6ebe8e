import { useEffect, useState } from "preact/hooks";
import { followLive, type LiveState } from "./live.ts";
import type { Session } from "./session.ts";

/** YES prices of all markets as they move, and the user's portfolio with them. */
export function usePrices(session: Session, isWanted = true): { prices: Record<string, number>; live: LiveState } {
  const [prices, setPrices] = useState<Record<string, number>>({});
  const [live, setLive] = useState<LiveState>("connecting");
  const { api, settled, refresh, dropToken } = session;
  useEffect(() => {
    if (!settled || !isWanted) return;
    return followLive(api, [], {
      onState: setLive,
      onRefused: dropToken,
      onEvent({ event, data }) {
        if (event === "price") setPrices((before) => ({ ...before, [data.marketId]: data.yesPrice }));
        else if (event === "snapshot")
          setPrices(Object.fromEntries(data.markets.map(({ marketId, yesPrice }) => [marketId, yesPrice])));
        else if (event === "fill" || (event === "market" && data.status === "settled")) refresh();
      },
    });
  }, [api, settled, isWanted, refresh, dropToken]);
  return { prices, live };
}
