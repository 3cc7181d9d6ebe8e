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
 * @returns a tag may come twice: a set would only be built to be copied into the map of tags
 */
export function touchedBy({ writes, trades, audit }: Batch): string[] {
  const tags: string[] = [];
  for (const write of writes) {
    const { table, key } = write;
    if (table === "marketState" || table === "account" || table === "trader") tags.push(key);
    else if (table === "marketKey") tags.push(write.row.id);
    else if (table === "clarification") tags.push(write.row.marketId);
    else if (table === "proposal" && write.row.marketId !== null) tags.push(write.row.marketId);
    else if (table === "tenant") tags.push(POLICY);
    else if (table === "position") tags.push(write.row.traderId);
  }
  // The hourly rollups are written with the trades of their market, whose state changes too.
  if (trades.length > 0) tags.push(TRADES);
  if (audit.some(({ type }) => type.startsWith("market."))) tags.push(MARKETS);
  return tags;
}
