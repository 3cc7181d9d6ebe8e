import { type AuditEntry, GENESIS_HASH } from "../domain/audit/audit-link.ts";
import { type AuditContent, contentOf } from "../domain/audit/audit-payloads.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import type { StoredStatus } from "../domain/market/market.ts";
import { rowReader, text, whole } from "../ledger/codec.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql, Row } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { PRICED, pricedColumns } from "./priced.ts";

/** The fields of a market that a page needs before it follows the changes. */
const toLive = rowReader({
  id: text(),
  closeAt: whole(),
  status: text<StoredStatus>(),
  ...PRICED,
  clarifications: whole(),
  /** Empty for none. */
  proposalId: text(),
  /** The database's clock. */
  now: whole(),
});
export type LiveMarket = ReturnType<typeof toLive>;

/** The markets with these ids in any state, or the open ones that close next. */
export async function listLiveMarkets(
  sql: ReadSql,
  { ids, limit }: { ids: readonly string[] | undefined; limit: number },
): Promise<LiveMarket[]> {
  const rows = await sql`
    select m.id, m.close_at, b.status, ${pricedColumns(sql)}, ${nowMs(sql)} as now,
           (select count(*) from clarification c where c.market_id = m.id) as clarifications,
           coalesce(p.id, '') as proposal_id
      from market m
      join book b on b.market_id = m.id
      left join proposal p on p.subject = 'market:' || m.id and p.status = 'pending'
     where ${ids ? sql`m.id = any(${textArray(ids)}::text[])` : sql`b.status = 'open' and m.close_at > ${nowMs(sql)}`}
     order by m.close_at, m.id
     limit ${limit}`;
  return rows.map(toLive);
}

/** An audit entry for senders of events: parsed once for all of them, with its seal checked. */
export interface FollowedEntry extends Pick<AuditEntry, "seq" | "ts" | "hash"> {
  /** Undefined for an entry that no audit key sealed in its stored form: nothing about it is sent. */
  content: AuditContent | undefined;
}

/** Entries after `after`, oldest first. */
export async function readEntriesAfter(
  sql: ReadSql,
  { after, limit }: { after: bigint; limit: number },
  isSealed: IsSealed,
): Promise<FollowedEntry[]> {
  const rows = await sql`
    ${sealedColumns(sql)}
     where a.seq > ${String(after)}
     order by a.seq
     limit ${limit}`;
  return rows.map((row) => toFollowed(row, isSealed));
}

/** The entries with these numbers, unordered. */
export async function readEntries(sql: ReadSql, seqs: readonly bigint[], isSealed: IsSealed): Promise<FollowedEntry[]> {
  const rows = await sql`
    ${sealedColumns(sql)}
     where a.seq = any(${textArray(seqs.map(String))}::bigint[])`;
  return rows.map((row) => toFollowed(row, isSealed));
}

function sealedColumns(sql: ReadSql) {
  return sql`
    select a.seq, a.type, a.actor, a.payload, a.ts, a.key_id, a.hash,
           (select before.hash from audit before where before.seq = a.seq - 1) as previous
      from audit a`;
}

function toFollowed({ seq, type, actor, payload, ts, key_id, hash, previous }: Row, isSealed: IsSealed): FollowedEntry {
  const entry: AuditEntry = { seq: BigInt(seq), type, actor, payloadText: payload, ts, keyId: key_id, hash };
  const holds = isSealed(entry, entry.seq === 1n ? GENESIS_HASH : String(previous));
  return { seq: entry.seq, ts, hash, content: holds ? contentOf(entry) : undefined };
}
