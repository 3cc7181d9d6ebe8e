import type { Result } from "../../contract/operations.ts";
import type { IsSealed } from "../../domain/audit/seal.ts";
import { traderStateOf } from "../../domain/trader.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { listSettledPositions } from "../../queries/traders/positions.ts";
import { readTrader, readWallet } from "../../queries/traders/traders.ts";
import { requireUser, type ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import { readPolicy } from "../policy.ts";
import { suitabilityOf } from "../users.ts";
import { readPositions } from "./trading.ts";

const SETTLEMENTS = 20;

/** All that one user's page shows. */
export function portfolioHandlers(context: ServiceContext) {
  return {
    getPortfolio: (_, caller) => {
      const { id } = requireUser(caller);
      return context.pool.snapshot((sql) => readPortfolio(sql, id, context.isSealed));
    },
  } satisfies Handlers;
}

/** Everything about one user at once: whoever opens a page has a few requests a minute for all of it. */
async function readPortfolio(sql: ReadSql, id: string, isSealed: IsSealed): Promise<Result<"getPortfolio">> {
  const [trader, wallet, { value: policy }, positions, settled] = await Promise.all([
    readTrader(sql, id, isSealed),
    readWallet(sql, id),
    readPolicy(sql),
    readPositions(sql, id),
    listSettledPositions(sql, id, SETTLEMENTS),
  ]);
  return {
    state: trader ? traderStateOf(trader) : "unverified",
    suitability: suitabilityOf(trader, policy),
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
