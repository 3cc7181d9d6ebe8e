import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Fault } from "../../domain/fault.ts";
import { isErrno } from "../environment.ts";
import { demoRuns } from "./running-demo.ts";

/** What `-C` states; undefined where the line leaves the directory to be found. */
let stated: string | undefined;

/**
 * Takes over the operator's directory of the command line that this process runs. Paths on the line stay relative to the
 * current directory.
 *
 * @throws Fault USAGE when it is no directory
 */
export function stateDirectory(directory: string | undefined): void {
  stated = directory === undefined ? undefined : resolve(directory);
  if (stated !== undefined && !statSync(stated, { throwIfNoEntry: false })?.isDirectory())
    throw new Fault("USAGE", `-C ${directory} is not a directory`);
}

/** Where a new tenant's files are written: what `-C` states, else the current directory. */
export function newTenantsDirectory(): string {
  return stated ?? process.cwd();
}

/**
 * What `-C` states, else the nearest directory upwards that has tenants or a running demo, else the current one.
 *
 * Above the current directory a `tenants` folder counts only where it belongs to the owner of the current directory: in a
 * folder that everyone may write to, such as /tmp, it may be a stranger's.
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

/** The folders in a directory, sorted; none where it is not there. */
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
