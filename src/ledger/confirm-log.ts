import type { Pool } from "../postgres/pool.ts";

/**
 * Resolves once everything that the log has shown so far is wherever the database promises acknowledged changes to be. A
 * read alone may show more: a commit whose wait for a standby was cancelled is visible, and goes with its server.
 *
 * The smallest commit there is, which locks no row: standbys receive commits in order, so one that has it has all before it.
 * @throws OutcomeUnknown while the database does not confirm it
 */
export async function confirmLog(pool: Pick<Pool, "write">): Promise<void> {
  await pool.write(
    (sql) => sql`
      select set_config('synchronous_commit', case when setting in ('off', 'local') then 'on' else setting end, true),
             pg_logical_emit_message(true, 'pmctl', '')
        from current_setting('synchronous_commit') as setting`,
  );
}
