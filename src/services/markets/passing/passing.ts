import type { Journal } from "../../../ledger/journal.ts";
import { later } from "../../../ledger/sequencer/database-clock.ts";
import { Passing } from "../../../ledger/sequencer/passing.ts";
import type { Reader } from "../../../postgres/pool.ts";
import { storedTrades } from "../../../queries/traders/orders.ts";
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
    findStored: async (requests) => {
      const unkeyed = requests.filter(({ idempotency }) => idempotency === undefined);
      const ids = await reader.read((sql) =>
        storedTrades(
          sql,
          unkeyed.map(({ command }) => command.id),
        ),
      );
      return new Set(unkeyed.filter(({ command }) => ids.has(command.id)));
    },
    monotonic: () => performance.now(),
    after: later,
    defer: setImmediate,
  });
}
