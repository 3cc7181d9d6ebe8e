import { statfs } from "node:fs/promises";

/** The role that owns the databases. It may create databases and roles, and is no superuser. */
export const ownerRole = "pmctl";

/** How the names of the logins that serve begin, and of no other role. */
export const serverLoginPrefix = "pmctl-server-";

/** The login that serves a database: it owns nothing, is a member of nothing, and connects to that database only. */
export function serverLogin(database: string): string {
  return serverLoginPrefix + database;
}

/** The bootstrap superuser, which only initdb needs. */
export const superuser = "postgres";

/** The port only names the socket file (`.s.PGSQL.5432`): each cluster has a socket directory of its own, and no TCP port. */
export const port = 5432;

/**
 * Settings written into postgresql.conf when a cluster is created. An operator may edit them there; what depends on
 * the place or the machine is given on the command line at each start instead (`launchArguments`).
 */
export const initialSettings: Readonly<Record<string, string>> = {
  unix_socket_permissions: "0700",
  max_connections: "200",
  shared_buffers: "128MB",
  // An acknowledged trade is on the disk. These are PostgreSQL's defaults, stated because money depends on them.
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  // Few checkpoints: after each one, the first change of a page writes the whole page into the log again.
  checkpoint_timeout: "15min",
  max_wal_size: "2GB",
  // This build can only compress with pglz, at 0.3 ms a page: creating a database took 300 ms with it, 25 ms without.
  wal_compression: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  // One file per weekday, overwritten a week later, so that logs need neither logrotate nor attention.
  logging_collector: "on",
  // Relative to the data directory, so that it stays right when the whole directory is moved.
  log_directory: "../log",
  log_filename: "postgresql-%a.log",
  log_rotation_age: "1d",
  log_rotation_size: "0",
  log_truncate_on_rotation: "on",
  log_min_messages: "warning",
  log_checkpoints: "off",
};

// Docker gives 64 MB, which a few parallel queries use up.
const enoughSharedMemoryBytes = 256 * 1024 * 1024;

/** Settings that depend on this machine, for initdb too. Without room in /dev/shm, files in the data directory do, a little slower. */
export async function machineSettings(): Promise<Readonly<Record<string, string>>> {
  if (process.platform !== "linux") return {};
  const memory = await statfs("/dev/shm").catch(() => ({ blocks: 0, bsize: 0 }));
  return { dynamic_shared_memory_type: memory.blocks * memory.bsize < enoughSharedMemoryBytes ? "mmap" : "posix" };
}

/** The command line of a server: what depends on the machine and on where the files lie at this moment. */
export async function launchArguments(dataDir: string, socketDir: string): Promise<string[]> {
  const places = { listen_addresses: "", port: String(port), unix_socket_directories: socketDir };
  return ["-D", dataDir, ...asOptions({ ...places, ...(await machineSettings()) })];
}

/** `-c name=value` for each setting; the form is the same for postgres and initdb. */
export function asOptions(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}
