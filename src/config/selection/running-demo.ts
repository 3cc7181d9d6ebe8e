import { fileURLToPath } from "node:url";
import { serverPids, serversFolder } from "../../state/server-sockets.ts";
import { stateDirectory } from "../../state/state-directory.ts";
import { isErrno } from "../environment.ts";
import { areOwn } from "./own-files.ts";

export const DEMO_TENANT = "demo";

/** The tenant file that `pmctl demo` serves where the directory has none of its own. */
export const PACKAGED_DEMO = fileURLToPath(new URL(`../../../tenants/${DEMO_TENANT}/tenant.yaml`, import.meta.url));

/**
 * Whether a `pmctl demo` of this user runs in the directory. In a folder that everyone may write to another user's files
 * could say so, and choose the database that is started and the secrets that are used.
 */
export function demoRuns(directory: string): boolean {
  if (!areOwn([stateDirectory(directory), serversFolder(directory, DEMO_TENANT)])) return false;
  return serverPids(directory, DEMO_TENANT).some(isAlive);
}

/** Signal 0 checks for the process; EPERM means that it lives and is another user's. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error) && error.code === "EPERM";
  }
}
