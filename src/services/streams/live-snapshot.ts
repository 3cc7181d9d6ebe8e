import { STREAM_MARKETS, type StreamEvents, streamEvents } from "../../contract/resources/stream.ts";
import { pricesOf, statusAt } from "../../domain/market/market.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { readAuditHead } from "../../queries/audit.ts";
import { listLiveMarkets } from "../../queries/stream.ts";
import { encodeAs } from "../answers.ts";

/** Where a stream of events begins. */
export interface Beginning {
  /** The last audit entry that the snapshot includes: later entries are new events. */
  seq: bigint;
  snapshot: StreamEvents["snapshot"];
}

/**
 * The state before all events that follow, of these markets or of the open ones that close next. `sql` must be a
 * snapshot's.
 */
export async function readBeginning(sql: ReadSql, ids: readonly string[] | undefined): Promise<Beginning> {
  const [{ seq }, rows] = await Promise.all([readAuditHead(sql), listLiveMarkets(sql, { ids, limit: STREAM_MARKETS })]);
  const markets = rows.map((row) => {
    const { yes, no } = pricesOf(row, row);
    return { marketId: row.id, yesPrice: yes, noPrice: no, status: statusAt(row, row.now), closeAt: row.closeAt };
  });
  const snapshot = encodeAs("streamEvents", streamEvents.snapshot, { markets }) as StreamEvents["snapshot"];
  return { seq, snapshot };
}
