import type { Batch } from "../../ledger/commit.ts";

// A view depends on tags, and a commit touches tags. Markets, traders and accounts are tags by their ids. An id with
// two meanings costs an extra load, never a stale answer.

/** The set of markets, and which of them accept trades. */
export const MARKETS = "* markets";
/** Any trade of any market. */
export const TRADES = "* trades";
/** The policy, and with it the fee. */
export const POLICY = "* policy";

/**
 * The tags of all rows of a batch that a view may show. Rows that no view shows have no tags: keys, stored answers,
 * payments. A view of such rows must first add their tag here.
 */
export function touchedBy({ writes, trades, audit }: Batch): Set<string> {
  const tags = new Set<string>();
  for (const write of writes) {
    const { table, key } = write;
    if (table === "marketState" || table === "account" || table === "trader") tags.add(key);
    else if (table === "marketKey") tags.add(write.row.id);
    else if (table === "clarification") tags.add(write.row.marketId);
    else if (table === "tenant") tags.add(POLICY);
    else if (table === "position") tags.add(write.row.traderId);
  }
  // The hourly rollups are written with the trades of their market, whose state changes too.
  if (trades.length > 0) tags.add(TRADES);
  if (audit.some(({ type }) => type.startsWith("market."))) tags.add(MARKETS);
  return tags;
}
