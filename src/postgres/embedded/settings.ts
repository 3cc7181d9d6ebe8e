import { statfs } from "node:fs/promises";

/** The role that owns the databases. It may create databases and roles, and is not a superuser. */
export const ownerRole = "pmctl";

/** The prefix of the serving logins' names; no other role has it. */
export const serverLoginPrefix = "pmctl-server-";

/** The serving login of a database: it owns nothing, is in no group, and connects only to that database. */
export function serverLogin(database: string): string {
  return serverLoginPrefix + database;
}

/** The bootstrap superuser, which only initdb needs. */
export const superuser = "postgres";

/** The port only determines the socket's name (`.s.PGSQL.5432`): each cluster has its own socket directory and no TCP port. */
export const port = 5432;

/**
 * Settings in the postgresql.conf of a new cluster, which an operator may edit. Settings that depend on the place or
 * the machine are passed on the command line at each start instead (`launchArguments`).
 */
export const initialSettings: Readonly<Record<string, string>> = {
  unix_socket_permissions: "0700",
  max_connections: "200",
  shared_buffers: "128MB",
  // An acknowledged trade is on disk. These are PostgreSQL's defaults, stated because money depends on them.
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  // Few checkpoints: after each checkpoint, the first change of a page writes the whole page to the log again.
  checkpoint_timeout: "15min",
  max_wal_size: "2GB",
  // This build can only compress with pglz, at 0.3 ms a page: with it, creating a database took 300 ms instead of 25 ms.
  wal_compression: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  // One file per weekday, overwritten a week later, so that logs need no maintenance.
  logging_collector: "on",
  // Relative to the data directory, so that it remains correct if the whole directory is moved.
  log_directory: "../log",
  log_filename: "postgresql-%a.log",
  log_rotation_age: "1d",
  log_rotation_size: "0",
  log_truncate_on_rotation: "on",
  log_min_messages: "warning",
  log_checkpoints: "off",
};

// Docker provides 64 MB, which a few parallel queries use up.
const enoughSharedMemoryBytes = 256 * 1024 * 1024;

/** Settings that depend on this machine, also for initdb. Without space in /dev/shm, slightly slower files are used. */
export async function machineSettings(): Promise<Readonly<Record<string, string>>> {
  if (process.platform !== "linux") return {};
  const memory = await statfs("/dev/shm").catch(() => ({ blocks: 0, bsize: 0 }));
  return { dynamic_shared_memory_type: memory.blocks * memory.bsize < enoughSharedMemoryBytes ? "mmap" : "posix" };
}

/** The command line of a server: settings that depend on the machine and on the current place of the files. */
export async function launchArguments(dataDir: string, socketDir: string): Promise<string[]> {
  const places = { listen_addresses: "", port: String(port), unix_socket_directories: socketDir };
  return ["-D", dataDir, ...asOptions({ ...places, ...(await machineSettings()) })];
}

/** `-c name=value` for each setting; the form is the same for postgres and initdb. */
export function asOptions(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}
