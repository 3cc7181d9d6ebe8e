import type { FrameData } from "../../contract/resources/embed.ts";
import type { Wish } from "../ticket/draft.ts";

/** One entry of the frame's history: what is shown there, and which entry it was opened from. */
export interface HistoryEntry {
  readonly key: number;
  readonly view: FrameData["view"];
  /** Of the query: a market, two for `compare`, or none. */
  readonly marketId?: string | undefined;
  readonly locale?: string | undefined;
  /** What the reader wants to trade there: the side that was tapped, or a position to sell. */
  readonly wish?: Wish | undefined;
  readonly from?: HistoryEntry | undefined;
}

/** The place that a document wrote into this entry of the history. */
export function placeIn(state: unknown): HistoryEntry | undefined {
  return (state as { pm?: HistoryEntry } | null)?.pm;
}
