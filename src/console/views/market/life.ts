import type { Api, WireResult } from "../../../contract/operations.ts";
import { type AuditContent, isOfType } from "../../../domain/audit/audit-payloads.ts";

export type Entry = WireResult<"listAudit">["entries"][number];

/** The entries of the audit log about a market. */
export interface Life {
  /** Newest first. */
  entries: readonly Entry[];
  /** Whether there are no earlier ones. */
  isWhole: boolean;
  /** The number of the last entry of the whole log that was read. */
  readTo: number;
}

/** Several, because trades have no index by market: a request looks for them in a part of the log. */
const MOST_REQUESTS = 20;
const MOST_ENTRIES = 1000;
const PAGE = 200;

/**
 * Reads a market's entries, newest first, up to a bound.
 * @param known what was read before; then only newer entries are read
 */
export async function readLife(api: Api, marketId: string, known?: Life): Promise<Life> {
  const { entries: newest } = await api.listAudit({ limit: 1 });
  const head = newest[0]?.seq ?? 0;
  if (known?.readTo === head) return known;
  if (known) {
    const newer = await readPages(api, { marketId, after: known.readTo });
    const entries = [...newer.entries.toReversed(), ...known.entries];
    // If too much has happened meanwhile, the newest part is read anew.
    if (newer.isWhole) return { entries, isWhole: known.isWhole, readTo: lastOf(entries, head) };
  }
  const read = await readPages(api, { marketId });
  return { ...read, readTo: lastOf(read.entries, head) };
}

/** A later read may have seen entries beyond the head that was asked for first. */
function lastOf([newest]: readonly Entry[], head: number): number {
  return Math.max(head, newest?.seq ?? 0);
}

async function readPages(
  api: Api,
  filter: { marketId: string; after?: number },
): Promise<Pick<Life, "entries" | "isWhole">> {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  for (let request = 0; request < MOST_REQUESTS && entries.length < MOST_ENTRIES; request++) {
    const page = await api.listAudit({ ...filter, cursor, limit: PAGE });
    entries.push(...page.entries);
    if (page.cursor === null) return { entries, isWhole: true };
    cursor = page.cursor;
  }
  return { entries, isWhole: false };
}

export type Trade = Entry & AuditContent<"trade.executed">;

/** Newest first. */
export function tradesIn({ entries }: Life): Trade[] {
  return entries.filter((entry): entry is Trade => isOfType(entry, "trade.executed"));
}
