import { STREAM_MARKETS, type StreamEvents, streamEvents } from "../contract/stream.ts";
import { pricesOf, statusAt } from "../domain/market.ts";
import type { ReadSql } from "../store/connect.ts";
import { listLiveMarkets } from "../store/queries/stream.ts";
import { encodeAs } from "./answers.ts";

/** The state before all events that follow: of these markets, or of the open ones that close next. */
export async function readSnapshot(
  sql: ReadSql,
  ids: readonly string[] | undefined,
): Promise<StreamEvents["snapshot"]> {
  const rows = await listLiveMarkets(sql, { ids, limit: STREAM_MARKETS });
  const markets = rows.map((row) => {
    const { yes, no } = pricesOf(row, row);
    return { marketId: row.id, yesPrice: yes, noPrice: no, status: statusAt(row, row.now), closeAt: row.closeAt };
  });
  return encodeAs("streamEvents", streamEvents.snapshot, { markets }) as StreamEvents["snapshot"];
}
