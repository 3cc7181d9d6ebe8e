import type { Result } from "../../contract/operations.ts";
import type { IsSealed } from "../../domain/audit/seal.ts";
import { pricesOf } from "../../domain/market/market.ts";
import { averagePrice } from "../../domain/money.ts";
import { traderStateOf } from "../../domain/trader.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { listOpenPositions, listSettledPositions } from "../../queries/traders/positions.ts";
import { readTrader, readWallet } from "../../queries/traders/traders.ts";
import { readPolicy } from "../configuration/policy.ts";
import { requireUser, type ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import { suitabilityOf } from "../traders/users.ts";

const SETTLEMENTS = 20;

/** A user's positions, and everything that the user's page shows. */
export function positionHandlers(context: ServiceContext) {
  const { pool, views } = context;
  const positionsOf = views.share(
    (traderId: string) => traderId,
    async (traderId) => {
      const result = await pool.read((sql) => readPositions(sql, traderId));
      // Others move the prices of the markets.
      return { result, tags: [traderId, ...result.map(({ marketId }) => marketId)], until: Number.POSITIVE_INFINITY };
    },
  );
  return {
    listPositions: async (_, caller) => positionsOf(requireUser(caller).id),
    getPortfolio: (_, caller) => {
      const { id } = requireUser(caller);
      return context.pool.snapshot((sql) => readPortfolio(sql, id, context.isSealed));
    },
  } satisfies Handlers;
}

/** Marked to the current price; both cost and result include the fees that the trader paid. */
async function readPositions(sql: ReadSql, traderId: string): Promise<Result<"listPositions">> {
  const positions = await listOpenPositions(sql, traderId);
  return positions.map((position) => {
    const { marketId, question, side, sharesMicro, costMicro } = position;
    const currentPrice = pricesOf(position, position)[side];
    const valueMicro = (sharesMicro * BigInt(Math.round(currentPrice * 1e6))) / 1_000_000n;
    return {
      marketId,
      question,
      side,
      shares: sharesMicro,
      avgCost: averagePrice(costMicro, sharesMicro),
      currentPrice,
      unrealizedPnl: valueMicro - costMicro,
    };
  });
}

/** Everything about one user at once, because the rate limit allows a page only a few requests a minute. */
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
