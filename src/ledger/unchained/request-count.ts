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
