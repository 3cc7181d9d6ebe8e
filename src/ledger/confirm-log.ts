import type { ChainPoint } from "../domain/audit/audit-link.ts";
import { textArray } from "../postgres/arrays.ts";
import { OutcomeUnknown, type Pool } from "../postgres/pool.ts";

type Writer = Pick<Pool, "write">;

/**
 * Resolves once the log up to this entry is wherever the database promises acknowledged changes to be. A read alone may show more: a
 * commit whose wait for a standby was cancelled is visible, but is lost with its server.
 * @throws OutcomeUnknown while the database does not confirm it, or if the database that confirms does not have the entry
 */
export async function confirmLog(pool: Writer, entry: ChainPoint): Promise<void> {
  requireEntry(await confirmedHashes(pool, [entry]), entry);
}

/**
 * The same for many simultaneous callers, one commit at a time, so that a standby that is away blocks only one
 * connection. A caller that asks during a commit is answered by the next, since it may have seen a later change.
 */
export function logConfirmer(pool: Writer): (entry: ChainPoint) => Promise<void> {
  let running: Promise<unknown> = Promise.resolve();
  let next: { entries: ChainPoint[]; hashes: Promise<ReadonlySet<string>> } | undefined;
  const begin = () => {
    const entries: ChainPoint[] = [];
    const hashes = running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        const confirmed = confirmedHashes(pool, entries);
        running = confirmed;
        return confirmed;
      });
    return { entries, hashes };
  };
  return async (entry) => {
    next ??= begin();
    next.entries.push(entry);
    requireEntry(await next.hashes, entry);
  };
}

/**
 * Makes the smallest possible commit, which locks no row. Standbys receive commits in order, so one that has it has all before it.
 * @returns the hashes at the places of these entries, read from the database that confirms: during a failover this may be another
 * one than the caller has read from
 */
async function confirmedHashes(pool: Writer, entries: readonly ChainPoint[]): Promise<ReadonlySet<string>> {
  const places = textArray(entries.map(({ seq }) => String(seq)));
  const [row] = await pool.write(
    (sql) => sql`
      select set_config('synchronous_commit', case when setting in ('off', 'local') then 'on' else setting end, true),
             pg_logical_emit_message(true, 'pmctl', ''),
             (select string_agg(hash, ' ') from audit where seq = any(${places}::bigint[])) as hashes
        from current_setting('synchronous_commit') as setting`,
  );
  return new Set(String(row?.hashes).split(" "));
}

function requireEntry(hashes: ReadonlySet<string>, { seq, hash }: ChainPoint): void {
  if (seq > 0n && !hashes.has(hash))
    throw new OutcomeUnknown(`The database does not have entry ${seq} of the audit log`);
}
