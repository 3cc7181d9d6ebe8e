import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isErrno } from "../environment.ts";
import { areOwn } from "./own-files.ts";

export const DEMO_TENANT = "demo";

/** The tenant file that `pmctl demo` serves where the directory has none of its own. */
export const PACKAGED_DEMO = fileURLToPath(new URL(`../../../tenants/${DEMO_TENANT}/tenant.yaml`, import.meta.url));

/** Where servers announce themselves to commands of the directory, in files of `<tenant>-<pid>.json`. */
export function serversFolder(directory: string): string {
  return join(directory, ".pmctl", "servers");
}

/**
 * Whether a `pmctl demo` of this user runs in the directory. In a folder that everyone may write to another user's files
 * could say so, and choose the database that is started and the secrets that are used.
 */
export function demoRuns(directory: string): boolean {
  const folder = serversFolder(directory);
  if (!areOwn([join(directory, ".pmctl"), folder])) return false;
  const pids = readdirSync(folder).flatMap(
    (name) => new RegExp(`^${DEMO_TENANT}-(\\d+)\\.json$`).exec(name)?.[1] ?? [],
  );
  return pids.some((pid) => isAlive(Number(pid)));
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
