import { existsSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { withLock } from "../../state/lock.ts";
import { createStateDirectory, StateError } from "../../state/state-directory.ts";
import { enforceAccess, hasRules } from "./access.ts";
import { serverAccount } from "./account.ts";
import { packageVersion, prepareBinaries } from "./binaries.ts";
import { clearStopped, endedOnPurpose, markStopped } from "./ending.ts";
import { ClusterError } from "./errors.ts";
import { copiesDirectory, findSite, prepareHome } from "./home.ts";
import { initialise } from "./initialise.ts";
import { bringUp, findPostmaster, settle, shutDown } from "./postmaster.ts";
import { prepareSocketDirectory, socketDirectory } from "./socket.ts";
import type { Begin } from "./steps.ts";

/** The place of a cluster, and the source of its programs. */
export interface ClusterLocation {
  /** The operator's directory. Its site is looked up at each use, because a start may move the home. */
  directory: string;
  /** Where root stores what its server cannot reach in the directory. */
  systemDir: string;
  /** @throws ClusterError when this platform has no PostgreSQL package. */
  findPackageRoot(): string;
}

const lockWaitMs = 90_000;

/** Whether a server accepts connections. */
export async function isReady(directory: string, begin: Begin): Promise<boolean> {
  begin("looking for a server that runs");
  return (await readyPid(directory)) !== undefined;
}

/** The process of the server that accepts connections; undefined while it starts, stops or is down. */
export async function readyPid(directory: string): Promise<number | undefined> {
  const found = await findPostmaster(findSite(directory).dataDir);
  return found?.isReady ? found.pid : undefined;
}

/** Starts the server unless it is ready, creating the cluster on first use. */
export async function ensureStarted(location: ClusterLocation, begin: Begin): Promise<void> {
  const { directory, findPackageRoot } = location;
  if ((await isReady(directory, begin)) && (await hasRules(findSite(directory)))) return;
  // First, so that nothing is changed on a platform without the package.
  findPackageRoot();
  createStateDirectory(directory);
  await exclusively(directory, begin, async () => {
    if (!(await settle(findSite(directory).dataDir))) await launch(location, begin);
    begin("comparing the rules of who may connect");
    await enforceAccess(findSite(directory));
  });
}

/** Starts the server after a crash, never after an intended stop. Resolves to whether it started the server. */
export async function restartAfterCrash(location: ClusterLocation, begin: Begin): Promise<boolean> {
  const { directory } = location;
  const { dataDir } = findSite(directory);
  begin("looking for a server that runs");
  // First without the lock: a server process calls this every few seconds while its database is away.
  if (!existsSync(dataDir) || (await findPostmaster(dataDir))) return false;
  return exclusively(directory, begin, async () => {
    const site = findSite(directory);
    if ((await settle(site.dataDir)) || (await endedOnPurpose(site))) return false;
    await launch(location, begin);
    return true;
  });
}

/** Shuts the server down, and records that this was intended. Resolves to false if it was not running. */
export async function stop(directory: string, begin: Begin): Promise<boolean> {
  if (!existsSync(findSite(directory).dataDir)) return false;
  return exclusively(directory, begin, async () => {
    const site = findSite(directory);
    await markStopped(site.home);
    const found = await findPostmaster(site.dataDir);
    if (!found) return false;
    begin("waiting for the server's end");
    await shutDown(site, found.pid);
    // Leaves nothing in /tmp. If the directory is not empty, another program uses it, which the next start will report.
    await rmdir(socketDirectory(site.home)).catch(() => undefined);
    return true;
  });
}

/** Creates what is missing and starts the server, which must not be running. Needs the lock. */
async function launch({ directory, systemDir, findPackageRoot }: ClusterLocation, begin: Begin): Promise<void> {
  begin("preparing the database's directory");
  const packageRoot = findPackageRoot();
  const account = await serverAccount(findSite(directory).dataDir);
  const site = await prepareHome(directory, systemDir, account);
  begin("comparing and trying the database's programs");
  const copiesDir = async () => {
    begin("copying the database's programs");
    return copiesDirectory(site, account, systemDir);
  };
  const binaries = await prepareBinaries(packageRoot, copiesDir, account);
  await initialise(site, binaries, account, await packageVersion(packageRoot), begin);
  begin("starting the server");
  await prepareSocketDirectory(socketDirectory(site.home), account);
  await clearStopped(site.home);
  await bringUp(site, binaries, account);
}

/** Holds the lock for starting and stopping, which is outside the home because the home may move. */
async function exclusively<T>(directory: string, begin: Begin, work: () => Promise<T>): Promise<T> {
  const { root } = findSite(directory);
  begin("waiting for the lock of starting and stopping");
  try {
    return await withLock(join(root, "postgres.lock"), lockWaitMs, "starting or stopping this database", () => {
      begin("waiting for a server that starts or stops already");
      return work();
    });
  } catch (error) {
    if (error instanceof StateError) throw error;
    throw new ClusterError(`The embedded PostgreSQL of ${root} failed: ${String(error)}`, { cause: error });
  }
}
