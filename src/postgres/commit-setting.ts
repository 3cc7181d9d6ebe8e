import type { ReadSql, Sql } from "./connect.ts";

/**
 * An expression for the `synchronous_commit` of changes that pmctl acknowledges: the session's own setting, but `on`
 * instead of `off`. Stricter settings such as `remote_apply` stay, and so does `local`, which also waits for the disk.
 */
export const COMMIT_SETTING = "coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on')";

/**
 * A condition that is always true, and that makes the statement's transaction commit with that setting. Each statement
 * includes it, without a further round trip. A session without its own setting would follow an administrator's change
 * at any moment, a session with one would miss a stricter change, and a pooler keeps none. A reload does not undo what
 * a transaction has set, so the setting applies to the commit, even in a later message.
 */
export const COMMITS_TO_DISK = `set_config('synchronous_commit', ${COMMIT_SETTING}, true) is not null`;

export function commitsToDisk(sql: ReadSql) {
  return sql.unsafe(COMMITS_TO_DISK);
}

/**
 * A condition that is always true, and that makes the statement's commit wait for this server's own disk and for no
 * standby. It is for data that no caller is promised, such as counts and leases: they continue while a synchronous standby
 * is away, and no session waits for it. It applies to one transaction, so it also works behind a transaction pooler.
 */
export const COMMITS_LOCALLY = "set_config('synchronous_commit', 'local', true) is not null";

export function commitsLocally(sql: Sql) {
  return sql.unsafe(COMMITS_LOCALLY);
}
