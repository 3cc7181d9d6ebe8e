import type { StreamEvent } from "../contract/resources/stream.ts";
import { liveEventsOf, readBeginning } from "../services/streams.ts";
import type { TenantServices } from "../services/tenant/tenant.ts";

/** With more unread events the stream continues with a new snapshot. */
const MAX_WAITING = 10_000;

/**
 * The events of a tenant from its database, as a server streams them to an operator: a snapshot first, then the commits
 * of any process. Ends when the signal is aborted.
 */
export async function* localEvents(
  { tail, pool }: Pick<TenantServices, "tail" | "pool">,
  { markets, signal }: { markets?: readonly string[] | undefined; signal: AbortSignal },
): AsyncGenerator<StreamEvent> {
  let waiting: { seq: bigint; event: StreamEvent }[] = [];
  let wake: () => void = () => {};
  const isWanted = (id: string) => markets === undefined || markets.includes(id);
  const { stop } = await tail.follow((entries) => {
    // A fill is for the user who traded; operators see the trade.
    for (const entry of entries)
      for (const { name, marketId, data } of liveEventsOf(entry))
        if (name !== "fill" && isWanted(marketId))
          waiting.push({ seq: entry.seq, event: { event: name, data } as StreamEvent });
    wake();
  });
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  try {
    let isBehind = true;
    let known = 0n;
    while (!signal.aborted) {
      if (isBehind) {
        const { head, snapshot } = await pool.snapshot((sql) => readBeginning(sql, markets));
        known = head.seq;
        await tail.outlives(head);
        yield { event: "snapshot", data: snapshot };
      }
      const events = waiting;
      waiting = [];
      isBehind = events.length > MAX_WAITING;
      if (!isBehind) yield* events.filter(({ seq }) => seq > known).map(({ event }) => event);
      if (waiting.length === 0 && !isBehind && !signal.aborted)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    stop();
  }
}
