import type { Input, Result } from "../../contract/operations.ts";
import { pricesOf, type Side } from "../../domain/market/market.ts";
import { averagePrice, centsFromMicro } from "../../domain/money.ts";
import type { PlaceTrade, SellShares, TradeResult } from "../../engine/trade.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { readHedgeBook } from "../../queries/traders/hedges.ts";
import { listOpenPositions } from "../../queries/traders/positions.ts";
import { requireUser, type ServiceContext, submit } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";
import { quoteTrade } from "./quote.ts";

/** Trades, what they would come to, and what is held. */
export function tradingHandlers(context: ServiceContext) {
  return {
    placeTrade: (input, caller) =>
      submit(context, "placeTrade", commandOf(context, input, input.selection.side, caller), caller, tradeView),
    placeOrder: (input, caller) =>
      submit(context, "placeOrder", commandOf(context, input, sideOf(input), caller), caller, orderView),
    quoteTrade: (input, caller) => quoteTrade(context, input, caller),
    listPositions: (_, caller) => {
      const { id } = requireUser(caller);
      return context.pool.read((sql) => readPositions(sql, id));
    },
    getHedgeExposure: () => getHedgeExposure(context),
  } satisfies Handlers;
}

function sideOf({ selection }: Input<"placeOrder">): Side {
  return selection.outcome === 1 ? "yes" : "no";
}

/** The contract has checked that a purchase names its amount and a sale its shares, and neither the other's bounds. */
function commandOf(
  context: ServiceContext,
  input: Input<"placeTrade"> | Input<"placeOrder">,
  side: Side,
  caller: Caller,
): PlaceTrade | SellShares {
  const user = requireUser(caller);
  const { marketId, amount, shares, maxAvgPrice, minAvgPrice, minShares, hedgeRef } = input;
  const common = {
    id: context.newId("trd"),
    marketId,
    side,
    traderId: user.id,
    claimedJurisdiction: user.jurisdiction,
  };
  return input.selection.action === "sell"
    ? { type: "sellShares", ...common, sharesMicro: shares ?? 0n, minAvgPrice }
    : { type: "placeTrade", ...common, amountMicro: amount ?? 0n, maxAvgPrice, minSharesMicro: minShares, hedgeRef };
}

function tradeView(trade: TradeResult): Result<"placeTrade"> {
  const { tradeId, marketId, side, action, avgPrice, ts, yesPriceAfter, position, realizedMicro, hedgeRef } = trade;
  return {
    tradeId,
    marketId,
    side,
    ...(action === "sell" ? { action } : {}),
    amount: trade.amountMicro,
    shares: trade.sharesMicro,
    avgPrice,
    ts,
    fee: trade.feeMicro,
    yesPriceAfter,
    position: { shares: position.sharesMicro, avgCost: averagePrice(position.costMicro, position.sharesMicro) },
    ...(realizedMicro === null ? {} : { realizedPnl: realizedMicro }),
    ...(hedgeRef === null ? {} : { hedgeRef }),
  };
}

function orderView(trade: TradeResult): Result<"placeOrder"> {
  return { orderId: trade.tradeId, status: "filled", outcome: trade.side === "yes" ? 1 : 0, ...tradeView(trade) };
}

/** Marked to the current price; both cost and result include the fees that the trader paid. */
export async function readPositions(sql: ReadSql, traderId: string): Promise<Result<"listPositions">> {
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

async function getHedgeExposure({ pool }: ServiceContext): Promise<Result<"getHedgeExposure">> {
  const { symbols, now } = await pool.snapshot(readHedgeBook);
  return {
    hedgeBook: symbols.map(({ activeCostMicro, ...row }) => ({
      ...row,
      activeCostMinor: centsFromMicro(activeCostMicro),
    })),
    updatedAt: now,
  };
}
