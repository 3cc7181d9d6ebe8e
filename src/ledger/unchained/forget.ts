import { DAY_MS, HOUR_MS } from "../../domain/time/units.ts";
import { COMMITS_LOCALLY } from "../../postgres/commit-setting.ts";
import type { Pool } from "../../postgres/pool.ts";
import { WINDOW_MS } from "./request-count.ts";

/** Rows of one statement, so that none takes long. */
const PORTION = 10_000;
/** An hour longer than an answer counts, so that no clock finds one gone that it would still give. */
const ANSWER_LIFE_MS = 25 * HOUR_MS;
const SECURITY_LIFE_MS = 90 * DAY_MS;

/** Removes windows of requests that ended long ago, however many addresses requests have come from. */
export const forgetOldCounts = forgetting("request_count", "bucket", "window_start", 2 * WINDOW_MS);
/** Removes answers to requests with an `Idempotency-Key` that are not given any more. */
export const forgetOldAnswers = forgetting("stored_answer", "caller, key", "created_at", ANSWER_LIFE_MS);
/** Removes what the security log has kept for its time. */
export const forgetOldSecurityEvents = forgetting("security_event", "id", "ts", SECURITY_LIFE_MS);

/**
 * Makes the removal of rows whose instant lies further back than `lifeMs`, by the database's clock. It waits for no
 * other session: rows that one has locked are left for the next time.
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
