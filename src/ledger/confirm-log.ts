import type { Pool } from "../postgres/pool.ts";

/**
 * Resolves once everything that the log has shown so far is wherever the database promises acknowledged changes to be. A read alone
 * may show more: a commit whose wait for a standby was cancelled is visible, but is lost with its server.
 *
 * This makes the smallest possible commit, which locks no row. Standbys receive commits in order, so one that has it has all before
 * it.
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

/**
 * The same for many simultaneous callers, one commit at a time, so that a standby that is away blocks only one
 * connection. A caller that asks during a commit is answered by the next, since it may have seen a later change.
 */
export function logConfirmer(pool: Pick<Pool, "write">): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        running = confirmLog(pool);
        return running;
      });
    return next;
  };
}
