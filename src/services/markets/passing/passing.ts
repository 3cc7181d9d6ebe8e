import type { Journal } from "../../../ledger/journal.ts";
import { later } from "../../../ledger/sequencer/database-clock.ts";
import { Passing } from "../../../ledger/sequencer/passing.ts";
import type { Reader } from "../../../postgres/pool.ts";
import { findExecuted } from "../../../queries/traders/orders.ts";
import { answerOf } from "../trading.ts";
import { type FollowingOptions, findLeader } from "./following.ts";
import type { TradeAnswer, TradeRequest } from "./messages.ts";

export interface TradePassingOptions {
  /** Undefined for a process that decides all its trades itself. */
  following: FollowingOptions | undefined;
  decide: (request: TradeRequest) => Promise<TradeAnswer>;
  journal: Pick<Journal, "readHead" | "fence">;
  reader: Reader;
}

/** Passes trades to the server that leads. */
export function passTrades({
  following,
  decide,
  journal,
  reader,
}: TradePassingOptions): Passing<TradeRequest, TradeAnswer> {
  return new Passing({
    find: async (listener) => following && findLeader(following, listener),
    decide,
    readEpoch: async () => (await journal.readHead()).head.epoch,
    fence: () => journal.fence(),
    // A repeat with the same key finds the stored answer of the others.
    findAnswers: async (requests) => {
      const unkeyed = requests.filter(({ idempotency }) => idempotency === undefined);
      const byId = new Map(unkeyed.map((request) => [request.command.id, request]));
      const executed = await reader.read((sql) => findExecuted(sql, [...byId.keys()]));
      const last = executed.at(-1);
      if (last) following?.onSealed(last.seal);
      return new Map(
        executed.flatMap((trade) => {
          const request = byId.get(trade.tradeId);
          return request ? [[request, answerOf(request, trade)]] : [];
        }),
      );
    },
    monotonic: () => performance.now(),
    after: later,
    defer: setImmediate,
  });
}
