import type { Result } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { averagePrice } from "../../domain/money.ts";
import { findOrder, listOrders, type OrderRow } from "../../queries/traders/orders.ts";
import { requireUser, type ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";

/** A user's own fills. */
export function orderHandlers({ pool, cursors }: ServiceContext) {
  return {
    listOrders: async (input, caller) => {
      const { limit, marketId } = input;
      const user = requireUser(caller);
      const list = cursors.list("listOrders", input, user);
      const [before] = list.reached(["number"]) ?? [];
      const rows = await pool.read((sql) => listOrders(sql, { traderId: user.id, marketId, before, limit: limit + 1 }));
      const { page, nextCursor } = list.page(rows, limit, ({ seq }) => [seq]);
      return { items: page.map(orderItem), nextCursor };
    },
    getOrder: async ({ id }, caller) => {
      const traderId = requireUser(caller).id;
      const row = await pool.read((sql) => findOrder(sql, traderId, id));
      if (!row) throw new Fault("NOT_FOUND", "Order not found");
      return orderItem(row);
    },
  } satisfies Handlers;
}

function orderItem(row: OrderRow): Result<"getOrder"> {
  const { id, marketId, question, side, amountMicro, feeMicro, ts, yesPricePpm, hedgeRef } = row;
  const sold = row.sharesMicro < 0n;
  const sharesMicro = sold ? -row.sharesMicro : row.sharesMicro;
  return {
    orderId: id,
    tradeId: id,
    status: "filled",
    marketId,
    question,
    side,
    outcome: side === "yes" ? 1 : 0,
    ...(sold ? { action: "sell" as const } : {}),
    amount: amountMicro,
    fee: feeMicro,
    shares: sharesMicro,
    avgPrice: averagePrice(amountMicro, sharesMicro),
    yesPriceAfter: yesPricePpm / 1e6,
    ts,
    ...(hedgeRef ? { hedgeRef } : {}),
  };
}
