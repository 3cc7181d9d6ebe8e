import { DAY_MS, HOUR_MS } from "../../domain/time.ts";
import type { Sql } from "../../postgres/connect.ts";
import type { Pool } from "../../postgres/pool.ts";
import { WINDOW_MS } from "./request-count.ts";

/** Rows of one statement, so that none takes long. */
const PORTION = 10_000;
/** An hour longer than an answer counts, so that no clock finds one gone that it would still give. */
const ANSWER_LIFE_MS = 25 * HOUR_MS;
const SECURITY_LIFE_MS = 90 * DAY_MS;

/**
 * Removes windows of requests that ended long ago, however many addresses somebody has sent from. Rows that somebody is
 * counting in are left for the next time: it waits for nobody.
 */
export async function forgetOldCounts(pool: Pick<Pool, "write">): Promise<void> {
  await inPortions(
    pool,
    (sql) => sql`
      delete from request_count
       where bucket in (select bucket
                          from request_count
                         where window_start < floor(extract(epoch from now()) * 1000)::bigint - ${2 * WINDOW_MS}::int4
                         limit ${PORTION}::int4
                           for update skip locked)`,
  );
}

/** Removes answers to requests with an `Idempotency-Key` that are not given any more. */
export async function forgetOldAnswers(pool: Pick<Pool, "write">): Promise<void> {
  await inPortions(
    pool,
    (sql) => sql`
      delete from stored_answer
       where (caller, key) in (select caller, key
                                 from stored_answer
                                where created_at < floor(extract(epoch from now()) * 1000)::bigint - ${ANSWER_LIFE_MS}::int4
                                limit ${PORTION}::int4
                                  for update skip locked)`,
  );
}

/** Removes ended sessions whose tokens have expired. */
export async function forgetEndedSessions(pool: Pick<Pool, "write">): Promise<void> {
  await inPortions(
    pool,
    (sql) => sql`
      delete from ended_session
       where token_hash in (select token_hash
                              from ended_session
                             where expires_at < floor(extract(epoch from now()) * 1000)::bigint
                             limit ${PORTION}::int4
                               for update skip locked)`,
  );
}

/** Removes what the security log has kept for its time. */
export async function forgetOldSecurityEvents(pool: Pick<Pool, "write">): Promise<void> {
  await inPortions(
    pool,
    (sql) => sql`
      delete from security_event
       where id in (select id
                      from security_event
                     where ts < floor(extract(epoch from now()) * 1000)::bigint - ${SECURITY_LIFE_MS}::bigint
                     limit ${PORTION}::int4
                       for update skip locked)`,
  );
}

async function inPortions(
  pool: Pick<Pool, "write">,
  remove: (sql: Sql) => PromiseLike<{ count: number }>,
): Promise<void> {
  while ((await pool.write(remove)).count === PORTION);
}
