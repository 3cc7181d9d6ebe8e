import { textArray } from "../../postgres/arrays.ts";
import { commitsLocally } from "../../postgres/commit-setting.ts";
import type { ReadSql, Sql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";

/** Requests of one bucket that are not in the shared count yet. */
export interface Demand {
  bucket: string;
  requests: number;
}

/** The shared count of a bucket right after adding a demand. */
export interface SharedCount {
  bucket: string;
  requests: number;
  /** The time until the bucket's window ends, by the database's clock: 1 to 60,000. */
  remainingMs: number;
}

export const WINDOW_MS = 60_000;

/** Who has a bucket: an address, or with a word before the name of the bucket what else is counted apart. */
export const CLIENT_KINDS = ["address", "admin", "webhook", "embed", "options", "console"] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

/** @param client an address, or the hash of an admin key */
export function bucketOf(kind: ClientKind, client: string): string {
  return kind === "address" ? client : `${kind} ${client}`;
}

/** A client with the requests of its running window, and when that ends in milliseconds since 1970. */
export interface BusyClient {
  kind: ClientKind;
  /** An address, or the name of an admin key. */
  client: string;
  requests: number;
  endsAt: number;
}

/** The clients with the most requests in their running windows. Rows of older windows are deleted every minute, so few are read. */
export async function busiestClients(sql: ReadSql, limit: number): Promise<BusyClient[]> {
  const rows = await sql`
    select c.bucket, c.requests, c.window_start + ${WINDOW_MS}::int4 as ends_at, k.name
      from (select bucket, requests, window_start
              from request_count
             where window_start > ${nowMs(sql)} - ${WINDOW_MS}::int4
             order by requests desc, bucket
             limit ${limit}) c
      left join api_key k on c.bucket = ${bucketOf("admin", "")} || k.hash
     order by c.requests desc, c.bucket`;
  return rows.map(({ bucket, requests, ends_at, name }) => {
    const word = CLIENT_KINDS.find((kind) => String(bucket).startsWith(`${kind} `));
    const client = word === undefined ? String(bucket) : String(bucket).slice(word.length + 1);
    return { kind: word ?? "address", client: name ?? client, requests, endsAt: Number(ends_at) };
  });
}

/** The shared count of one bucket; undefined without a window that has not ended. */
export async function readCount(sql: ReadSql, bucket: string): Promise<Omit<SharedCount, "bucket"> | undefined> {
  const [row] = await sql`
    select requests, window_start + ${WINDOW_MS}::int4 - ${nowMs(sql)} as remaining_ms
      from request_count
     where bucket = ${bucket} and window_start > ${nowMs(sql)} - ${WINDOW_MS}::int4`;
  return row && { requests: row.requests as number, remainingMs: Number(row.remaining_ms) };
}

/**
 * Adds requests to the counts that all processes of a tenant share, in one statement. A bucket's window starts with its
 * first request and lasts 60 s by the database's clock.
 */
export async function countRequests(sql: Sql, demands: readonly Demand[]): Promise<SharedCount[]> {
  const buckets = textArray(demands.map(({ bucket }) => bucket));
  const requests = `{${demands.map((demand) => demand.requests).join(",")}}`;
  // Rows are locked in the order of their names: two processes that count the same addresses cannot deadlock. A start slightly in
  // the future belongs to a process whose statement began later; a start far in the future, to a clock that was since set back.
  const rows = await sql`
    insert into request_count as counted (bucket, window_start, requests)
    select bucket, floor(extract(epoch from now()) * 1000)::bigint, requests
      from unnest(${buckets}::text[], ${requests}::int4[]) as demand (bucket, requests)
     where ${commitsLocally(sql)}
     order by bucket
    on conflict (bucket) do update
       set requests = excluded.requests
                      + case when counted.window_start between excluded.window_start - ${WINDOW_MS - 1}::int4
                                                           and excluded.window_start + 1000
                             then least(counted.requests, 1000000000) else 0 end,
           window_start = case when counted.window_start between excluded.window_start - ${WINDOW_MS - 1}::int4
                                                             and excluded.window_start + 1000
                               then counted.window_start else excluded.window_start end
    returning bucket, requests,
              window_start + ${WINDOW_MS}::int4 - floor(extract(epoch from now()) * 1000)::bigint as remaining_ms`;
  return rows.map((row) => ({
    bucket: row.bucket as string,
    requests: row.requests as number,
    remainingMs: Math.min(Math.max(Number(row.remaining_ms), 1), WINDOW_MS),
  }));
}
