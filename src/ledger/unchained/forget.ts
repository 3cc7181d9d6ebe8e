import { DAY_MS, HOUR_MS } from "../../domain/time/units.ts";
import { COMMITS_LOCALLY } from "../../postgres/commit-setting.ts";
import type { Pool } from "../../postgres/pool.ts";
import { WINDOW_MS } from "./request-count.ts";

/** The most rows of one statement, so that no statement takes long. */
const PORTION = 10_000;
/** An hour longer than an answer is valid, so that differing clocks cannot delete a valid answer. */
const ANSWER_LIFE_MS = 25 * HOUR_MS;
const SECURITY_LIFE_MS = 90 * DAY_MS;

/** Removes windows of requests that ended long ago, from any number of addresses. */
export const forgetOldCounts = forgetting("request_count", "bucket", "window_start", 2 * WINDOW_MS);
/** Removes expired answers to requests with an `Idempotency-Key`. */
export const forgetOldAnswers = forgetting("stored_answer", "caller, key", "created_at", ANSWER_LIFE_MS);
/** Removes sessions of the console that could not be in use any more. */
export const forgetOldConsoles = forgetting("console_session", "sha256", "ends_at", DAY_MS);
/** Removes expired events of the security log. */
export const forgetOldSecurityEvents = forgetting("security_event", "id", "ts", SECURITY_LIFE_MS);

/**
 * Creates a function that removes rows older than `lifeMs` by the database's clock. It waits for no other session:
 * locked rows are left for the next time.
 */
function forgetting(table: string, key: string, instant: string, lifeMs: number) {
  const removal = `
    delete from ${table}
     where (${key}) in (select ${key}
                          from ${table}
                         where ${instant} < floor(extract(epoch from now()) * 1000)::bigint - ${lifeMs}
                         limit ${PORTION}
                           for update skip locked)
       and ${COMMITS_LOCALLY}`;
  return async (pool: Pick<Pool, "note">): Promise<void> => {
    while ((await pool.note((sql) => sql.unsafe(removal))).count === PORTION);
  };
}
