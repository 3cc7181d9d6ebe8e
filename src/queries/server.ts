import type { ReadSql } from "../postgres/connect.ts";

/** What a database server is, as far as it matters here. */
export interface ServerRow {
  /** Such as 18.4. */
  version: string;
  /** Whether a commit is on the disk when it is acknowledged. */
  isDurable: boolean;
}

/** The server on the other end of the connection. */
export async function readServer(sql: ReadSql): Promise<ServerRow> {
  const [row] = await sql`
    select current_setting('server_version') as version,
           current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as is_durable`;
  return { version: row?.version, isDurable: row?.is_durable };
}

/** Whether a commit of this session is on disk when it is acknowledged, as far as the session decides it. */
export async function commitsAreSynchronous(sql: ReadSql): Promise<boolean> {
  const [row] = await sql<{ setting: string }[]>`select current_setting('synchronous_commit') as setting`;
  return row?.setting !== "off";
}

/** Ends the statement that another session of the same login is running; nothing happens where it runs none. */
export async function cancelStatement(sql: ReadSql, backend: number): Promise<void> {
  await sql`select pg_cancel_backend(${backend})`;
}
