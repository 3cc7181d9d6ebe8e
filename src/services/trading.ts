import type { Input, Result } from "../contract/operations.ts";
import { pricesOf } from "../domain/market.ts";
import { averagePrice } from "../domain/money.ts";
import type { TradeResult } from "../engine/commands.ts";
import { listOpenPositions } from "../store/queries/positions.ts";
import { requireUser, type ServiceContext, submit } from "./context.ts";
import type { Caller, Handlers } from "./invoke.ts";

export function tradingHandlers(context: ServiceContext) {
  return {
    placeTrade: (input, caller) => placeTrade(context, input, caller),
    listPositions: (_, caller) => listPositions(context, requireUser(caller).id),
  } satisfies Handlers;
}

function placeTrade(context: ServiceContext, input: Input<"placeTrade">, caller: Caller) {
  const user = requireUser(caller);
  return submit(
    context,
    "placeTrade",
    {
      type: "placeTrade",
      id: context.newId("trd"),
      marketId: input.marketId,
      traderId: user.id,
      side: input.selection.side,
      amountMicro: input.amount,
      claimedJurisdiction: user.jurisdiction,
    },
    caller,
    tradeView,
  );
}

function tradeView(trade: TradeResult): Result<"placeTrade"> {
  const { tradeId, marketId, side, avgPrice, ts, yesPriceAfter, position } = trade;
  return {
    tradeId,
    marketId,
    side,
    amount: trade.amountMicro,
    shares: trade.sharesMicro,
    avgPrice,
    ts,
    fee: trade.feeMicro,
    yesPriceAfter,
    position: { shares: position.sharesMicro, avgCost: averagePrice(position.costMicro, position.sharesMicro) },
  };
}

/** Marked to the current price; both cost and result include the fees that the trader paid. */
async function listPositions({ read }: ServiceContext, traderId: string): Promise<Result<"listPositions">> {
  const positions = await listOpenPositions(read, traderId);
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
