import type { Result } from "../contract/operations.ts";
import { traderStateOf } from "../domain/trader.ts";
import { listSettledPositions } from "../store/queries/positions.ts";
import { readTrader } from "../store/queries/traders.ts";
import { requireUser, type ServiceContext } from "./context.ts";
import type { Handlers } from "./invoke.ts";
import { listPositions } from "./trading.ts";
import { getSuitability } from "./users.ts";

const SETTLEMENTS = 20;

/** All that one user's page shows. */
export function portfolioHandlers(context: ServiceContext) {
  return {
    getPortfolio: (_, caller) => getPortfolio(context, requireUser(caller).id),
  } satisfies Handlers;
}

/** Everything about one user at once: whoever opens a page has a few requests a minute for all of it. */
async function getPortfolio(context: ServiceContext, id: string): Promise<Result<"getPortfolio">> {
  const [{ trader, wallet }, suitability, positions, settled] = await Promise.all([
    readTrader(context.read, id),
    getSuitability(context, id),
    listPositions(context, id),
    listSettledPositions(context.read, id, SETTLEMENTS),
  ]);
  return {
    state: trader ? traderStateOf(trader) : "unverified",
    suitability,
    wallet,
    positions,
    settlements: settled.map(({ sharesMicro, costMicro, ...position }) => ({
      ...position,
      shares: sharesMicro,
      cost: costMicro,
      payout: position.side === position.outcome ? sharesMicro : 0n,
    })),
  };
}
