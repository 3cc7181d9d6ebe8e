import type { Input, Result } from "../../contract/operations.ts";
import type { IsSealed } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { paidTo } from "../../domain/market/ends.ts";
import type { Holding } from "../../domain/market/holding.ts";
import { pricesOf, statusAt } from "../../domain/market/market.ts";
import type { Outcome } from "../../domain/market/outcome.ts";
import { sellValueOf } from "../../domain/market/sale.ts";
import { averagePrice } from "../../domain/money.ts";
import { policyAt, policyHoldsUntil } from "../../domain/policy/policy.ts";
import { traderStateOf } from "../../domain/trader.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { findMarket, type MarketRow } from "../../queries/markets.ts";
import {
  type HolderRow,
  listHolders,
  listOpenPositions,
  listSettledPositions,
} from "../../queries/traders/positions.ts";
import { readTrader, readWallet } from "../../queries/traders/traders.ts";
import { readPolicy } from "../configuration/policy.ts";
import { requireUser, type ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import { requireTrader, suitabilityOf } from "../traders/users.ts";
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
    getUserPortfolio: ({ id }) =>
      context.pool.snapshot(async (sql) => {
        await requireTrader(sql, id, context.isSealed);
        return readPortfolio(sql, id, context.isSealed);
      }),
    listMarketPositions: (input) => listMarketPositions(context, input),
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
    const sellValue = sellValueOf(position, position, side, sharesMicro, feeBps);
    return {
      marketId,
      question,
      side,
      shares: sharesMicro,
      avgCost: averagePrice(costMicro, sharesMicro),
      currentPrice,
      unrealizedPnl: worthAt(currentPrice, sharesMicro) - costMicro,
      sellValue,
      sellPnl: sellValue - costMicro,
      status: statusAt(position, stored.now),
    };
  });
  return { result, until: policyHoldsUntil(stored, stored.now) };
}

/** @param price with six decimals */
function worthAt(price: number, sharesMicro: bigint): bigint {
  return (sharesMicro * BigInt(Math.round(price * 1e6))) / 1_000_000n;
}

async function listMarketPositions(
  { pool, cursors }: ServiceContext,
  input: Input<"listMarketPositions">,
): Promise<Result<"listMarketPositions">> {
  const { id: marketId, limit } = input;
  const list = cursors.list("listMarketPositions", input);
  const [cost, traderId] = list.reached(["string", "string"]) ?? [];
  const after = cost === undefined || traderId === undefined ? undefined : { costMicro: BigInt(cost), traderId };
  return pool.snapshot(async (sql) => {
    const market = await findMarket(sql, marketId);
    if (!market) throw new Fault("MARKET_NOT_FOUND", "Market not found");
    const rows = await listHolders(sql, { marketId, after, limit: limit + 1 });
    const { page, nextCursor } = list.page(rows, limit, (last) => [String(last.costMicro), last.traderId]);
    return { items: page.map((row) => holderView(row, market)), nextCursor };
  });
}

function holderView(
  { traderId: userId, side, sharesMicro, costMicro, otherSharesMicro, otherCostMicro }: HolderRow,
  market: MarketRow,
): Result<"listMarketPositions">["items"][number] {
  const larger: Holding = { side, sharesMicro, costMicro, feeMicro: 0n };
  const other: Holding = {
    ...{ side: side === "yes" ? "no" : "yes", feeMicro: 0n },
    ...{ sharesMicro: otherSharesMicro ?? 0n, costMicro: otherCostMicro ?? 0n },
  };
  const [yes, no] = side === "yes" ? [larger, other] : [other, larger];
  const paid = (outcome: Outcome) => paidTo(yes, outcome) + paidTo(no, outcome);
  const prices = pricesOf(market, market);
  const worth = worthAt(prices.yes, yes.sharesMicro) + worthAt(prices.no, no.sharesMicro);
  return {
    userId,
    ...{ yesShares: yes.sharesMicro, yesCost: yes.costMicro, noShares: no.sharesMicro, noCost: no.costMicro },
    value: market.outcome === null ? worth : paid(market.outcome),
    ...{ yesPayout: paid("yes"), noPayout: paid("no") },
  };
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
