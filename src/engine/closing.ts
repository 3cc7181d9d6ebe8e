import { statusAt } from "../domain/market/market.ts";
import type { CloseMarket, Results } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { requireMarket } from "./markets.ts";

/**
 * Puts on record that a market has closed. Nothing depends on it: trades are refused by the clock alone. Any number of
 * processes may ask; only the first writes, and nobody before the closing time or after the settlement.
 */
export function closeMarket(draft: Draft, { marketId }: CloseMarket, now: number): Results["closeMarket"] {
  const { market, book } = requireMarket(draft, marketId);
  const status = statusAt({ status: book.status, closeAt: market.closeAt }, now);
  if (status !== "closed" || book.closingRecorded) return { recorded: false };
  draft.put("book", marketId, { ...book, closingRecorded: true });
  draft.record("market.closed", { marketId, closeAt: new Date(market.closeAt).toISOString() });
  return { recorded: true };
}
