import type { ServerFacts, Standby, StandbyPosition } from "../domain/durability.ts";
import { COMMIT_SETTING } from "../postgres/commit-setting.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** The PostgreSQL version of the server, such as 18.4. */
export async function readVersion(sql: ReadSql): Promise<string> {
  const [row] = await sql`select split_part(current_setting('server_version'), ' ', 1) as version`;
  return row?.version;
}

/** The timeline in the name of a segment of the log. */
function timelineOf(segment: string): number {
  return segment === "" ? 0 : Number.parseInt(segment.slice(0, 8), 16);
}

/** The server of the connection, and its address. */
export interface ServerReading extends ServerFacts {
  /** Null over a socket of the same machine. */
  address: { host: string; port: number } | null;
  /** Whether the server only follows another one, and takes no change. */
  isStandby: boolean;
  /** Rises by one with each promotion; 0 on a standby. */
  timeline: number;
  /** By the database's clock, in ISO 8601. */
  checkedAt: string;
  standbys: ConnectedStandby[] | null;
}

export interface ConnectedStandby extends Standby, Pick<StandbyPosition, "pid" | "flushed"> {}

interface ReplicationRow extends Omit<ConnectedStandby, "state"> {
  state: string | null;
}

/**
 * What the server promises about commits, in one statement for the current schema. Settings reveal a cluster's manager:
 * CloudNativePG names its own, and only Patroni puts these four on the server's command line.
 */
export function readDurability(sql: ReadSql): Promise<ServerReading> {
  return readServer(sql, sql`union all select pid, name, state, sync, flushed from standby_status()`);
}

/** The same for a database with any schema version or none, as its owner. */
export function readDurabilityAsOwner(sql: ReadSql): Promise<ServerReading> {
  return readServer(sql, sql``);
}

async function readServer(sql: ReadSql, seenByOwner: ReturnType<ReadSql>): Promise<ServerReading> {
  const [row] = await sql`
    select split_part(current_setting('server_version'), ' ', 1) as version,
           current_setting('fsync') = 'on' as fsync,
           current_setting('full_page_writes') = 'on' as full_page_writes,
           ${sql.unsafe(COMMIT_SETTING)} as synchronous_commit,
           current_setting('synchronous_standby_names') as synchronous_standby_names,
           current_setting('wal_level') as wal_level,
           current_setting('archive_mode') as archive_mode,
           case
             when current_setting('cnpg.config_sha256', true) is not null then 'CloudNativePG'
             when (select count(*) from pg_settings
                    where source = 'command line'
                      and name in ('cluster_name', 'hot_standby', 'max_wal_senders', 'wal_level')) = 4 then 'Patroni'
           end as manager,
           host(inet_server_addr()) as host,
           inet_server_port() as port,
           is_standby,
           case when is_standby then '' else pg_walfile_name(pg_current_wal_lsn()) end as wal,
           (extract(epoch from clock_timestamp()) * 1000)::float8 as checked_at,
           archived_at, failed_at, failed_count,
           (select coalesce(json_agg(standby order by name), '[]')
              from (select distinct on (pid) pid, name, state, sync, flushed::text as flushed,
                           case when not is_standby
                             then greatest(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), flushed), 0) end as "lagBytes"
                      from (select pid, application_name as name, state, sync_state as sync, flush_lsn as flushed
                              from pg_stat_replication
                            ${seenByOwner}) as seen
                     where state is distinct from 'backup'
                     order by pid, state nulls last) as standby) as standbys
      from pg_is_in_recovery() as is_standby,
           (select (extract(epoch from last_archived_time) * 1000)::float8 as archived_at,
                   (extract(epoch from last_failed_time) * 1000)::float8 as failed_at,
                   failed_count::int4 as failed_count
              from pg_stat_archiver) as archiver`;
  if (!row) throw new TypeError("A statement without tables answers one row");
  const standbys: ReplicationRow[] = row.standbys;
  return {
    version: row.version,
    fsync: row.fsync,
    fullPageWrites: row.full_page_writes,
    synchronousCommit: row.synchronous_commit,
    synchronousStandbyNames: row.synchronous_standby_names,
    walLevel: row.wal_level,
    manager: row.manager,
    address: row.host === null ? null : { host: row.host, port: row.port },
    isStandby: row.is_standby,
    timeline: timelineOf(row.wal),
    checkedAt: new Date(row.checked_at).toISOString(),
    archive: {
      mode: row.archive_mode,
      lastArchivedAt: timeOf(row.archived_at),
      lastFailedAt: timeOf(row.failed_at),
      failed: row.failed_count,
    },
    standbys: visible(standbys),
  };
}

/** A role without further rights sees that a standby is connected, with nulls for the rest. */
function visible(rows: readonly ReplicationRow[]): ConnectedStandby[] | null {
  const standbys = rows.flatMap(({ state, ...rest }) => (state === null ? [] : [{ ...rest, state }]));
  return standbys.length === rows.length ? standbys : null;
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** Ends the running statement of another session of the same login; does nothing if it runs none. */
export async function cancelStatement(sql: ReadSql, backend: number): Promise<void> {
  await sql`select pg_cancel_backend(${backend})`;
}

/** The session of the query, by the number that `cancelStatement` takes. */
export async function backendOf(sql: ReadSql): Promise<number> {
  const [row] = await sql<{ backend: number }[]>`select pg_backend_pid() as backend`;
  return row?.backend ?? 0;
}
