import type { AuditEntry } from "../../domain/audit-link.ts";
import type { MarketKind, StoredStatus } from "../../domain/market.ts";
import { textArray } from "../arrays.ts";
import type { Sql } from "../connect.ts";

/** What a page needs of a market before it follows the changes. */
export interface LiveMarket {
  id: string;
  kind: MarketKind;
  p0Ppm: number;
  fundMicro: bigint;
  closeAt: number;
  status: StoredStatus;
  yesMicro: bigint;
  noMicro: bigint;
  /** The database's clock. */
  now: number;
}

/** The markets with these ids, whatever their state, or else the open ones that close next. */
export async function listLiveMarkets(
  sql: Sql,
  { ids, limit }: { ids: readonly string[] | undefined; limit: number },
): Promise<LiveMarket[]> {
  const rows = await sql`
    select m.id, m.kind, m.p0_ppm, m.fund_micro, m.close_at, b.status, b.yes_micro, b.no_micro,
           (extract(epoch from now()) * 1000)::float8 as now
      from market m
      join book b on b.market_id = m.id
     where ${
       ids
         ? sql`m.id = any(${textArray(ids)}::text[])`
         : sql`b.status = 'open' and m.close_at > (extract(epoch from now()) * 1000)::float8`
     }
     order by m.close_at, m.id
     limit ${limit}`;
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    p0Ppm: row.p0_ppm,
    fundMicro: BigInt(row.fund_micro),
    closeAt: Number(row.close_at),
    status: row.status,
    yesMicro: BigInt(row.yes_micro),
    noMicro: BigInt(row.no_micro),
    now: row.now,
  }));
}

/** An audit entry as followers read it; nobody verifies anything here. */
export type FollowedEntry = Pick<AuditEntry, "seq" | "type" | "payloadText" | "ts" | "hash">;

/** Entries after `after`, oldest first. */
export async function readEntriesAfter(sql: Sql, after: bigint, limit: number): Promise<FollowedEntry[]> {
  const rows = await sql<EntryRow[]>`
    select seq, type, payload, ts, hash
      from audit
     where seq > ${String(after)}
     order by seq
     limit ${limit}`;
  return rows.map(toFollowed);
}

/** The entries with these numbers, in no order. */
export async function readEntries(sql: Sql, seqs: readonly bigint[]): Promise<FollowedEntry[]> {
  const rows = await sql<EntryRow[]>`
    select seq, type, payload, ts, hash from audit where seq = any(${textArray(seqs.map(String))}::bigint[])`;
  return rows.map(toFollowed);
}

interface EntryRow {
  seq: string;
  type: string;
  payload: string;
  ts: string;
  hash: string;
}

function toFollowed(row: EntryRow): FollowedEntry {
  return { seq: BigInt(row.seq), type: row.type, payloadText: row.payload, ts: row.ts, hash: row.hash };
}
