import type { ReadSql, Sql } from "./connect.ts";

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

/**
 * A condition that always holds, and by which the statement's commit waits for this server's own disk and for no standby: for
 * notes that no caller is promised, such as counts and leases. They go on while a synchronous standby is away, and no session
 * stays behind waiting for it. It holds for the one transaction, so that a pooler of transactions needs no other setting.
 */
export const COMMITS_LOCALLY = "set_config('synchronous_commit', 'local', true) is not null";

export function commitsLocally(sql: Sql) {
  return sql.unsafe(COMMITS_LOCALLY);
}
