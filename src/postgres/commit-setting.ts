import type { ReadSql } from "./connect.ts";

/**
 * An expression for the `synchronous_commit` of what pmctl acknowledges: the session's own, and `on` where that is `off`. So
 * what waits for more, such as `remote_apply`, stays, and `local`, which waits for the disk too.
 */
export const COMMIT_SETTING = "coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on')";

/**
 * A condition that always holds, and by which the statement's transaction commits with that setting. Each statement says so
 * itself, in no further round trip: a session without a setting of its own takes over what an administrator changes at any
 * moment, one with its own would miss a change to a stricter one, and a pooler keeps none. What one transaction has set no
 * reload undoes, so it holds for the commit, which may come with a later message.
 */
export const COMMITS_TO_DISK = `set_config('synchronous_commit', ${COMMIT_SETTING}, true) is not null`;

export function commitsToDisk(sql: ReadSql) {
  return sql.unsafe(COMMITS_TO_DISK);
}
