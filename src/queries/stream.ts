import type { AuditEntry } from "../domain/audit/audit-link.ts";
import { type AuditContent, contentOf } from "../domain/audit/audit-payloads.ts";
import type { StoredStatus } from "../domain/market/market.ts";
import { rowReader, text, whole } from "../ledger/codec.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql, Row } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { PRICED, pricedColumns } from "./priced.ts";

/** What a page needs of a market before it follows the changes. */
const toLive = rowReader({
  id: text(),
  closeAt: whole(),
  status: text<StoredStatus>(),
  ...PRICED,
  /** The database's clock. */
  now: whole(),
});
export type LiveMarket = ReturnType<typeof toLive>;

/** The markets with these ids, whatever their state, or else the open ones that close next. */
export async function listLiveMarkets(
  sql: ReadSql,
  { ids, limit }: { ids: readonly string[] | undefined; limit: number },
): Promise<LiveMarket[]> {
  const rows = await sql`
    select m.id, m.close_at, b.status, ${pricedColumns(sql)}, ${nowMs(sql)} as now
      from market m
      join book b on b.market_id = m.id
     where ${ids ? sql`m.id = any(${textArray(ids)}::text[])` : sql`b.status = 'open' and m.close_at > ${nowMs(sql)}`}
     order by m.close_at, m.id
     limit ${limit}`;
  return rows.map(toLive);
}

/** An audit entry as followers read it: parsed, once for all of them, and not verified. */
export interface FollowedEntry extends Pick<AuditEntry, "seq" | "ts" | "hash"> {
  /** Undefined for a payload that is not of its type, as in a row that was tampered with. */
  content: AuditContent | undefined;
}

/** Entries after `after`, oldest first. */
export async function readEntriesAfter(sql: ReadSql, after: bigint, limit: number): Promise<FollowedEntry[]> {
  const rows = await sql`
    select seq, type, payload, ts, hash
      from audit
     where seq > ${String(after)}
     order by seq
     limit ${limit}`;
  return rows.map(toFollowed);
}

/** The entries with these numbers, in no order. */
export async function readEntries(sql: ReadSql, seqs: readonly bigint[]): Promise<FollowedEntry[]> {
  const rows = await sql`
    select seq, type, payload, ts, hash from audit where seq = any(${textArray(seqs.map(String))}::bigint[])`;
  return rows.map(toFollowed);
}

function toFollowed({ seq, type, payload, ts, hash }: Row): FollowedEntry {
  return { seq: BigInt(seq), ts, hash, content: contentOf({ type, payloadText: payload }) };
}
