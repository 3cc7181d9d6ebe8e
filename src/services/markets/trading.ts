import type { Input, Result } from "../../contract/operations.ts";
import type { Seal } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { pricesOf, type Side } from "../../domain/market/market.ts";
import { averagePrice, roundPrice } from "../../domain/money.ts";
import { type Command, needsOf } from "../../engine/commands.ts";
import { fillBuy, fillSell } from "../../engine/fill.ts";
import type { Table } from "../../engine/rows.ts";
import type { TradeResult } from "../../engine/trade.ts";
import { type ExecutedTrade, findOrder, listOrders, type OrderRow } from "../../queries/traders/orders.ts";
import { encodeResult } from "../answers.ts";
import { requireUser, type ServiceContext, submit } from "../context.ts";
import { Answered, type Caller, type Handlers } from "../invoke.ts";
import { readState } from "../read-state.ts";
import { fillView } from "./fill-view.ts";
import type { TradeAnswer, TradeRequest } from "./passing/messages.ts";

/** Trades and orders, quotes, and the list of a user's orders. */
export function tradingHandlers(context: ServiceContext) {
  return {
    placeTrade: (input, caller) =>
      trade(context, "placeTrade", commandOf(context, input, input.selection.side, caller), caller),
    placeOrder: (input, caller) =>
      trade(context, "placeOrder", commandOf(context, input, sideOf(input), caller), caller),
    listOrders: (input, caller) => ordersOf(context, input, caller),
    getOrder: ({ id }, caller) => orderOf(context, id, caller),
    quoteTrade: (input, caller) => quoteTrade(context, input, caller),
  } satisfies Handlers;
}

/** Has the trade decided by this server or by the one that leads, and answers it. */
async function trade(
  { passing }: ServiceContext,
  operation: TradeRequest["operation"],
  command: TradeRequest["command"],
  { actor, reason, idempotency, onSealed }: Caller,
): Promise<Answered> {
  const { text, replayed, seal } = await passing.submit({ operation, command, actor, reason, idempotency });
  if (seal) onSealed?.(seal);
  return new Answered(text, replayed);
}

/** Decides a trade in this process. @param isCalledBack for a trade that another server has passed to this one */
export async function decideTrade(
  context: ServiceContext,
  { operation, command, actor, reason, idempotency }: TradeRequest,
  isCalledBack?: Caller["isCalledBack"],
): Promise<TradeAnswer> {
  let seal: Seal | undefined;
  const onSealed = ({ seq, hash, ts, keyId }: Seal) => {
    seal = { seq, hash, ts, keyId };
  };
  const caller: Caller = { actor, reason, idempotency, isCalledBack, onSealed };
  const { text, replayed } =
    operation === "placeTrade"
      ? await submit(context, operation, command, caller, tradeView)
      : await submit(context, operation, command, caller, orderView);
  return { text, replayed, seal };
}

/** The answer to a trade that is stored, as `decideTrade` gave it. */
export function answerOf({ operation, command }: TradeRequest, { seal, ...executed }: ExecutedTrade): TradeAnswer {
  const trade = { ...executed, hedgeRef: (command.type === "placeTrade" && command.hedgeRef) || null };
  const wire =
    operation === "placeTrade" ? encodeResult(operation, tradeView(trade)) : encodeResult(operation, orderView(trade));
  return { text: JSON.stringify(wire), replayed: false, seal };
}

function sideOf({ selection }: Input<"placeOrder">): Side {
  return selection.outcome === 1 ? "yes" : "no";
}

function commandOf(
  { newId }: ServiceContext,
  input: Input<"placeTrade"> | Input<"placeOrder">,
  side: Side,
  caller: Caller,
): Command<"placeTrade"> | Command<"sellShares"> {
  return tradeCommand(newId("trd"), input, side, requireUser(caller));
}

/**
 * The engine's command for a trade. The contract has checked that a purchase states its amount, a sale its shares, and
 * neither states the other's bounds.
 */
export function tradeCommand(
  id: string,
  input: Input<"placeTrade"> | Input<"placeOrder">,
  side: Side,
  user: NonNullable<Caller["user"]>,
): Command<"placeTrade"> | Command<"sellShares"> {
  const { marketId, amount, shares, maxAvgPrice, minAvgPrice, minProceeds, minShares, hedgeRef } = input;
  const common = {
    id,
    marketId,
    side,
    traderId: user.id,
    claimedJurisdiction: user.jurisdiction,
  };
  return input.selection.action === "sell"
    ? { type: "sellShares", ...common, sharesMicro: shares ?? 0n, minAvgPrice, minProceedsMicro: minProceeds }
    : { type: "placeTrade", ...common, amountMicro: amount ?? 0n, maxAvgPrice, minSharesMicro: minShares, hedgeRef };
}

type Executed = Omit<TradeResult, "avgPrice">;

/** The answer to a trade. */
export function tradeView(trade: Executed): Result<"placeTrade"> {
  const { tradeId, position, realizedMicro, hedgeRef } = trade;
  return {
    tradeId,
    ...fillView(trade),
    position: { shares: position.sharesMicro, avgCost: averagePrice(position.costMicro, position.sharesMicro) },
    ...(realizedMicro === null ? {} : { realizedPnl: realizedMicro }),
    ...(hedgeRef === null ? {} : { hedgeRef }),
  };
}

/** A trade is an order that is filled at once, under the same id. */
function filled(tradeId: string, side: Side) {
  return { orderId: tradeId, tradeId, status: "filled", outcome: side === "yes" ? 1 : 0 } as const;
}

function orderView(trade: Executed): Result<"placeOrder"> {
  return { ...filled(trade.tradeId, trade.side), ...tradeView(trade) };
}

async function ordersOf({ pool, cursors }: ServiceContext, input: Input<"listOrders">, caller: Caller) {
  const { limit, marketId } = input;
  const user = requireUser(caller);
  const list = cursors.list("listOrders", input, user);
  const [before] = list.reached(["number"]) ?? [];
  const rows = await pool.read((sql) => listOrders(sql, { traderId: user.id, marketId, before, limit: limit + 1 }));
  const { page, nextCursor } = list.page(rows, limit, ({ seq }) => [seq]);
  return { items: page.map(orderItem), nextCursor };
}

async function orderOf({ pool }: ServiceContext, id: string, caller: Caller) {
  const traderId = requireUser(caller).id;
  const row = await pool.read((sql) => findOrder(sql, traderId, id));
  if (!row) throw new Fault("NOT_FOUND", "Order not found");
  return orderItem(row);
}

function orderItem(row: OrderRow): Result<"getOrder"> {
  const { id, side, question, hedgeRef } = row;
  return { ...filled(id, side), ...fillView(row), question, ...(hedgeRef ? { hedgeRef } : {}) };
}

const OF_A_USER: readonly Table[] = ["trader", "portfolio", "account"];

/**
 * Runs the engine's computation of a trade on freshly read rows, without storing anything. Without a user, only the
 * errors of the market and the tenant are known.
 */
async function quoteTrade(
  context: ServiceContext,
  input: Input<"quoteTrade">,
  caller: Caller,
): Promise<Result<"quoteTrade">> {
  const { user } = caller;
  const { marketId, selection, amount, shares, maxAvgPrice, minShares, minAvgPrice, minProceeds } = input;
  const { side, action } = selection;
  const terms = { marketId, side, claimedJurisdiction: user?.jurisdiction };
  const purchase = { ...terms, amountMicro: amount ?? 0n, maxAvgPrice, minSharesMicro: minShares };
  const command: Command = { type: "placeTrade", id: "", traderId: user?.id ?? "", ...purchase };
  // Purchases and sales need the same rows.
  const needs = needsOf(command).filter(({ table }) => user || !OF_A_USER.includes(table));
  const { state, now } = await readState(context, needs);
  const fill =
    action === "sell"
      ? fillSell(
          state,
          { ...terms, sharesMicro: shares ?? 0n, minAvgPrice, minProceedsMicro: minProceeds },
          user?.id,
          now,
        )
      : fillBuy(state, purchase, user?.id, now);
  const yesPriceBefore = pricesOf(fill.market, fill.marketState).yes;
  return {
    ...fillView({ marketId, side, action: action ?? "buy", ...fill, ts: now }),
    yesPriceBefore,
    priceImpact: roundPrice(Math.abs(fill.yesPriceAfter - yesPriceBefore)),
  };
}
