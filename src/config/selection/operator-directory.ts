import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Fault } from "../../domain/fault.ts";
import { serverPids, serversFolder } from "../../state/server-sockets.ts";
import { stateDirectory } from "../../state/state-directory.ts";
import { isErrno } from "../environment.ts";
import { areOwn } from "./own-files.ts";

/** The value of `-C`; undefined without the option. */
let stated: string | undefined;

/**
 * Sets the operator's directory from this process's command line. Paths on the command line stay relative to the
 * current directory.
 *
 * @throws Fault USAGE if it is not a directory
 */
export function takeDirectory(directory: string | undefined): void {
  stated = directory === undefined ? undefined : resolve(directory);
  if (stated !== undefined && !statSync(stated, { throwIfNoEntry: false })?.isDirectory())
    throw new Fault("USAGE", `-C ${directory} is not a directory`);
}

/** The directory for a new tenant's files: the value of `-C`, else the current directory. */
export function newTenantsDirectory(): string {
  return stated ?? process.cwd();
}

/**
 * The value of `-C`, else the nearest directory upwards with tenants or a running demo, else the current directory.
 *
 * Above the current directory, a `tenants` folder counts only if it belongs to the owner of the current directory: in a
 * folder that everyone may write to, such as /tmp, it may belong to a stranger.
 */
export function operatorDirectory(): string {
  if (stated !== undefined) return stated;
  const current = process.cwd();
  if (hasTenants(current)) return current;
  const owner = statSync(current).uid;
  for (let above = dirname(current), below = current; above !== below; below = above, above = dirname(above)) {
    const folder = [join(above, "tenants"), join(above, ".pmctl")].find(existsSync);
    if (folder !== undefined && hasTenants(above) && statSync(folder).uid === owner) return above;
  }
  return current;
}

function hasTenants(directory: string): boolean {
  return folderNames(join(directory, "tenants")).length > 0 || demoRuns(directory);
}

/** The folders in a directory, sorted; empty if the directory does not exist. */
export function folderNames(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map(({ name }) => name)
      .toSorted();
  } catch (error) {
    if (isErrno(error) && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw error;
  }
}

export const DEMO_TENANT = "demo";

/** The tenant file that `pmctl demo` serves if the directory has none of its own. */
export const PACKAGED_DEMO = fileURLToPath(new URL(`../../../tenants/${DEMO_TENANT}/tenant.yaml`, import.meta.url));

/**
 * Whether this user's `pmctl demo` runs in the directory. In a folder that everyone may write to, another user's files
 * could pretend it, and choose the database to start and the secrets to use.
 */
export function demoRuns(directory: string): boolean {
  if (!areOwn([stateDirectory(directory), serversFolder(directory, DEMO_TENANT)])) return false;
  return serverPids(directory, DEMO_TENANT).some(isAlive);
}

/** Signal 0 checks for the process; EPERM means that it runs and belongs to another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error) && error.code === "EPERM";
  }
}
