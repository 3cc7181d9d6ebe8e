import type { Result } from "../../contract/operations.ts";
import type { IsSealed } from "../../domain/audit/seal.ts";
import { paidTo } from "../../domain/market/ends.ts";
import { pricesOf, statusAt } from "../../domain/market/market.ts";
import { sellValueOf } from "../../domain/market/sale.ts";
import { averagePrice } from "../../domain/money.ts";
import { policyAt, policyHoldsUntil } from "../../domain/policy/policy.ts";
import { traderStateOf } from "../../domain/trader.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { listOpenPositions, listSettledPositions } from "../../queries/traders/positions.ts";
import { readTrader, readWallet } from "../../queries/traders/traders.ts";
import { readPolicy } from "../configuration/policy.ts";
import { requireUser, type ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import { suitabilityOf } from "../traders/users.ts";
import { POLICY } from "../views/touched.ts";
import { reasonOf } from "./markets.ts";

const SETTLEMENTS = 20;

/** A user's positions, and everything that the user's page shows. */
export function positionHandlers(context: ServiceContext) {
  const { pool, views } = context;
  const positionsOf = views.share(
    (traderId: string) => traderId,
    async (traderId) => {
      const { result, until } = await pool.read((sql) => readPositions(sql, traderId));
      // Other users move market prices, and operators change the fee of a sale.
      // Time changes a status too, and only the portfolio, which is read each time, shows it.
      const positions = result.map(({ status: _, ...position }) => position);
      return { result: positions, tags: [traderId, POLICY, ...positions.map(({ marketId }) => marketId)], until };
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

/**
 * Positions valued at the current price, and at the proceeds of selling them now. Cost and both results include the
 * fees paid; the sale result also includes the fee of the sale.
 * @returns also the instant at which time alone changes the answer
 */
async function readPositions(
  sql: ReadSql,
  traderId: string,
): Promise<{ result: Result<"getPortfolio">["positions"]; until: number }> {
  const { positions, stored } = await listOpenPositions(sql, traderId);
  if (!stored) return { result: [], until: Number.POSITIVE_INFINITY };
  const { feeBps } = policyAt(stored, stored.now);
  const result = positions.map((position) => {
    const { marketId, question, side, sharesMicro, costMicro } = position;
    const currentPrice = pricesOf(position, position)[side];
    const valueMicro = (sharesMicro * BigInt(Math.round(currentPrice * 1e6))) / 1_000_000n;
    const sellValue = sellValueOf(position, position, side, sharesMicro, feeBps);
    return {
      marketId,
      question,
      side,
      shares: sharesMicro,
      avgCost: averagePrice(costMicro, sharesMicro),
      currentPrice,
      unrealizedPnl: valueMicro - costMicro,
      sellValue,
      sellPnl: sellValue - costMicro,
      status: statusAt(position, stored.now),
    };
  });
  return { result, until: policyHoldsUntil(stored, stored.now) };
}

/** Everything about one user in one answer, because the rate limit allows a page only a few requests a minute. */
async function readPortfolio(sql: ReadSql, id: string, isSealed: IsSealed): Promise<Result<"getPortfolio">> {
  const [trader, wallet, { value: policy }, { result: positions }, settled] = await Promise.all([
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
    sellValueUsd: positions.reduce((sum, { sellValue }) => sum + sellValue, 0n),
    settlements: settled.map(({ marketId, question, settledAt, outcome, corrections, voidReason, ...held }) => {
      const { side, sharesMicro: shares, costMicro: cost } = held;
      return {
        marketId,
        question,
        side,
        outcome,
        shares,
        cost,
        payout: paidTo({ ...held, feeMicro: 0n }, outcome),
        settledAt,
        reason: reasonOf({ corrections, voidReason }),
        corrections: [...(corrections ?? [])],
      };
    }),
  };
}
