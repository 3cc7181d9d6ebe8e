import type { Result } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { usdFromMicro } from "../../domain/money.ts";
import { findTradeRecord } from "../../queries/trade-record.ts";
import { auditItem } from "../audit/record.ts";
import type { ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import type { RefusalLog } from "../security/refusal-log.ts";
import { fillView, storedFill } from "./fill-view.ts";

/** What `pmctl why` asks for. */
export function explainHandlers(context: ServiceContext, refusals: RefusalLog) {
  return {
    getRefusal: async ({ requestId }) => {
      const refusal = refusals.find(requestId);
      if (!refusal)
        throw new Fault(
          "NOT_FOUND",
          "This process remembers no refused request with this id; it keeps the last 10,000",
        );
      return refusal;
    },
    explainTrade: ({ tradeId }) => explainTrade(context, tradeId),
  } satisfies Handlers;
}

async function explainTrade({ pool }: ServiceContext, tradeId: string): Promise<Result<"explainTrade">> {
  const trade = await pool.read((sql) => findTradeRecord(sql, tradeId));
  if (!trade) throw new Fault("NOT_FOUND", "Trade not found");
  const fill = storedFill(trade);
  return {
    tradeId,
    question: trade.question,
    userId: trade.traderId,
    ...fillView(fill),
    action: fill.action,
    fee: usdFromMicro(fill.feeMicro),
    yesPriceBefore: (trade.previousPricePpm ?? trade.p0Ppm) / 1e6,
    entry: auditItem(trade.entry),
  };
}
