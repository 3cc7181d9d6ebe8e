import type { Sql } from "../../postgres/connect.ts";

/**
 * A condition that always holds, and by which the statement's commit waits for this server's own disk and for no standby: for
 * notes that no caller is promised, such as counts and leases. They go on while a synchronous standby is away, and no session
 * stays behind waiting for it. It holds for the one transaction, so that a pooler of transactions needs no other setting.
 */
export const COMMITS_LOCALLY = "set_config('synchronous_commit', 'local', true) is not null";

export function commitsLocally(sql: Sql) {
  return sql.unsafe(COMMITS_LOCALLY);
}
